# Compiles every *.yaml and *.csv below a folder into a target: one assembler file whose .incbin lines take the bytes as they are,
# and a C++ table of names. Files that are added need no new cmake call (CONFIGURE_DEPENDS); changed ones are taken in
# again by the next build.
enable_language(ASM)

function(partita_embed_data target folder)
  file(GLOB_RECURSE files RELATIVE ${folder} CONFIGURE_DEPENDS ${folder}/*.yaml ${folder}/*.csv)
  list(SORT files COMPARE STRING)
  set(assembler "    .section .rodata\n")
  set(externs "")
  set(rows "")
  set(number 0)
  set(depends "")
  foreach(file IN LISTS files)
    string(APPEND assembler "    .balign 16\n    .globl partita_data_${number}, partita_data_${number}_end\n"
                            "partita_data_${number}:\n    .incbin \"${folder}/${file}\"\npartita_data_${number}_end:\n    .byte 0\n")
    string(APPEND externs "extern const char partita_data_${number}[], partita_data_${number}_end[];\n")
    string(APPEND rows "    {\"${file}\", partita_data_${number}, partita_data_${number}_end},\n")
    list(APPEND depends ${folder}/${file})
    math(EXPR number "${number} + 1")
  endforeach()
  string(APPEND assembler "    .section .note.GNU-stack,\"\",%progbits\n")
  string(CONCAT table "// Made by embed.cmake. Sorted by path.\nextern \"C\" {\n${externs}}\n"
               "static const EmbeddedRow kRows[] = {\n${rows}};\n")
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/embedded_data.S CONTENT "${assembler}" @ONLY)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/embedded_table.inc CONTENT "${table}" @ONLY)
  set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/embedded_data.S PROPERTIES OBJECT_DEPENDS "${depends}"
                              COMPILE_OPTIONS -Wa,--noexecstack)
  target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/embedded_data.S)
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
endfunction()
