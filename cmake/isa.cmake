# Files for one instruction set carry it in their name; only they get its flags, and all of them are always built
# for the processor family they belong to. Which one runs is decided at run time (src/base/cpu.h).
set(INGOT_FLAGS_avx2 -mavx2 -mfma -mf16c -mbmi2)
set(INGOT_FLAGS_avxvnni ${INGOT_FLAGS_avx2} -mavxvnni)
set(INGOT_FLAGS_avx512 ${INGOT_FLAGS_avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512cd -mavx512vnni
    -mavx512vbmi)
set(INGOT_FLAGS_amx ${INGOT_FLAGS_avx512} -mamx-tile -mamx-int8)
set(INGOT_FLAGS_neon "")
set(INGOT_FLAGS_neon_dotprod -march=armv8.2-a+dotprod)
set(INGOT_FLAGS_neon_i8mm -march=armv8.2-a+dotprod+i8mm)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(INGOT_ISAS avx2 avxvnni avx512 amx)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(INGOT_ISAS neon neon_dotprod neon_i8mm)
else()
  set(INGOT_ISAS "")
endif()

# The fuzz targets run no kernels, and instrumented kernels take minutes to compile.
set(INGOT_FLAGS_uninstrumented "")
if(INGOT_FUZZ)
  set(INGOT_FLAGS_uninstrumented -fno-sanitize=all)
endif()

# Sets flags on the files in the list called `list_name` and takes those of foreign processors out of it.
# Properties of files are local to a directory: call it where the target is made.
function(ingot_isa_files list_name)
  set(files ${${list_name}})
  foreach(isa avx2 avxvnni avx512 amx neon neon_dotprod neon_i8mm)
    set(of_isa ${files})
    list(FILTER of_isa INCLUDE REGEX "_${isa}\\.c$")
    if(NOT of_isa)
      continue()
    endif()
    if(isa IN_LIST INGOT_ISAS)
      set(flags ${INGOT_FLAGS_${isa}})
      if(INGOT_FUZZ) # parsers are fuzzed, not kernels, and clang needs minutes to instrument their unrolled loops
        list(APPEND flags -fno-sanitize=all)
      endif()
      set_source_files_properties(${of_isa} PROPERTIES COMPILE_OPTIONS "${flags}")
    else()
      list(REMOVE_ITEM files ${of_isa})
    endif()
  endforeach()
  set(${list_name} ${files} PARENT_SCOPE)
endfunction()
