# partita_embed(TARGET NAME FOLDER patterns...): compiles the files below a folder that match into a target: one assembler
# file whose .incbin lines take the bytes as they are, and NAME_table.inc, a C++ array kRows of {path, begin, end}
# sorted by path (the includer declares EmbeddedRow); EXCLUDE REGEX leaves paths out. Files that are added need no new
# cmake call (CONFIGURE_DEPENDS); changed ones are taken in again by the next build.
enable_language(ASM)

function(partita_embed target name folder)
  cmake_parse_arguments(ARG "" "EXCLUDE" "" ${ARGN})
  list(TRANSFORM ARG_UNPARSED_ARGUMENTS PREPEND ${folder}/ OUTPUT_VARIABLE patterns)
  file(GLOB_RECURSE files RELATIVE ${folder} CONFIGURE_DEPENDS ${patterns})
  if(ARG_EXCLUDE)
    list(FILTER files EXCLUDE REGEX "${ARG_EXCLUDE}")
  endif()
  list(SORT files COMPARE STRING)
  set(assembler "    .section .rodata\n")
  set(externs "")
  set(rows "")
  set(number 0)
  set(depends "")
  foreach(file IN LISTS files)
    set(symbol partita_${name}_${number})
    string(APPEND assembler "    .balign 16\n    .globl ${symbol}, ${symbol}_end\n"
                            "${symbol}:\n    .incbin \"${folder}/${file}\"\n${symbol}_end:\n    .byte 0\n")
    string(APPEND externs "extern const char ${symbol}[], ${symbol}_end[];\n")
    string(APPEND rows "    {\"${file}\", ${symbol}, ${symbol}_end},\n")
    list(APPEND depends ${folder}/${file})
    math(EXPR number "${number} + 1")
  endforeach()
  string(APPEND assembler "    .section .note.GNU-stack,\"\",%progbits\n")
  string(CONCAT table "// Made by embed.cmake. Sorted by path.\nextern \"C\" {\n${externs}}\n"
               "static const EmbeddedRow kRows[] = {\n${rows}};\n")
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}.S CONTENT "${assembler}" @ONLY)
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}_table.inc CONTENT "${table}" @ONLY)
  set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/${name}.S PROPERTIES OBJECT_DEPENDS "${depends}"
                              COMPILE_OPTIONS -Wa,--noexecstack)
  target_sources(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/${name}.S)
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
endfunction()
