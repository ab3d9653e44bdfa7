# The data check on real corpora, if they are present; ctest -V -R data_ prints its reports.
add_executable(data_check_tool data/data_check_tool.c)
target_include_directories(data_check_tool PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(data_check_tool PRIVATE attend)
function(attend_data name)
  list(TRANSFORM ARGN PREPEND ${ATTEND_DATA}/ REGEX "^[a-z]")
  add_test(NAME data_${name} COMMAND data_check_tool --if-present ${ARGN})
  set_tests_properties(data_${name} PROPERTIES SKIP_RETURN_CODE 77) # the tool exits with 1 if the data prevents training
endfunction()

attend_data(hansards hansards/train.en.gz hansards/train.fr.gz)
attend_data(tatoeba tatoeba/fra.txt.gz)
attend_data(europarl europarl/train.de.gz europarl/train.en.gz)
attend_data(multi30k multi30k/train.en.gz multi30k/train.de.gz --valid multi30k/val.en.gz multi30k/val.de.gz)
attend_data(cmudict cmudict/g014b2b.train.gz)
attend_data(sigmorphon sigmorphon2021/eng_us_train.tsv.gz --valid sigmorphon2021/eng_us_dev.tsv.gz)
attend_data(penn --lines ptb/ptb.train.txt.gz --valid ptb/ptb.valid.txt.gz)
