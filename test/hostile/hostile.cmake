# Hostile campaigns (campaign.h). The short form runs with the sanitizers; `make hostile` is the long form.
foreach(campaign lying_models numbers odd_files changing_files clock_jumps)
  add_executable(hostile_${campaign} hostile/${campaign}.c hostile/campaign.c hostile/option_list.c)
  target_include_directories(hostile_${campaign} PRIVATE ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(hostile_${campaign} PRIVATE attend m)
endforeach()

# A copy of the command whose clocks jump.
add_executable(attend_jumping_clock ${PROJECT_SOURCE_DIR}/cli/main.c hostile/jumping_clock.c)
target_link_libraries(attend_jumping_clock PRIVATE attend_verbs)
target_link_options(attend_jumping_clock PRIVATE LINKER:--wrap=clock_gettime)

add_test(NAME hostile_campaign COMMAND ${CMAKE_CURRENT_LIST_DIR}/campaign.sh $<TARGET_FILE:hostile_lying_models> ${PROJECT_SOURCE_DIR}/test/data/v0.1
         $<TARGET_FILE:hostile_clock_jumps>)

# The short form: as many cases as fit into a quarter of a minute, others for each commit.
if(ATTEND_SANITIZE)
  foreach(campaign lying_models numbers odd_files changing_files clock_jumps)
    set(command attend_command)
    if(campaign STREQUAL "clock_jumps")
      set(command attend_jumping_clock)
    endif()
    add_test(NAME hostile_${campaign} COMMAND ${CMAKE_CURRENT_LIST_DIR}/short.sh $<TARGET_FILE:hostile_${campaign}> $<TARGET_FILE:${command}>
             ${PROJECT_SOURCE_DIR}/test/data/v0.1)
    set_tests_properties(hostile_${campaign} PROPERTIES ENVIRONMENT "${ATTEND_LSAN}")
  endforeach()
endif()
