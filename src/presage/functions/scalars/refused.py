"""Functions of Spark that are not allowed, with the reason for the user."""

from __future__ import annotations

from presage.functions.aggregates import aggregates

_REASONS = {
    "it can call any Java code": "reflect java_method try_reflect",
    "it reads or depends on files": (
        "input_file_name input_file_block_start input_file_block_length read_files from_avro to_avro"
    ),
    "its result is random": "rand randn random uuid shuffle randstr uniform",
    "its result depends on when it runs": (
        "current_timestamp now current_date curdate current_time localtimestamp unix_nanos"
    ),
    "its result depends on where it runs": (
        "monotonically_increasing_id spark_partition_id current_user user session_user current_database "
        "current_schema current_catalog current_timezone current_path version typeof schema_of_json "
        "schema_of_csv schema_of_xml"
    ),
    "it stops the query": "assert_true raise_error",
    "its result can be of any size": "sequence",
    "it makes rows, not a value": (
        "explode explode_outer posexplode posexplode_outer inline inline_outer stack json_tuple variant_explode"
    ),
    "it takes a function as argument": (
        "transform filter exists forall aggregate reduce zip_with map_filter map_zip_with transform_keys "
        "transform_values"
    ),
    "it belongs to Spark's windows; write a window after the stream, as in Tick#time(5 min)": (
        "lag lead rank dense_rank row_number ntile percent_rank cume_dist nth_value window_time session_window"
    ),
    f"it is not among the aggregates {', '.join(each.name for each in aggregates())}": (
        "any_value approx_count_distinct array_agg bit_and bit_or bit_xor bool_and bool_or collect_list "
        "collect_set covar_pop covar_samp every first_value grouping grouping_id "
        "histogram_numeric kurtosis last_value listagg max_by mean min_by mode percentile_approx "
        "product regr_slope skewness some std stddev_pop stddev_samp string_agg sum_distinct try_avg try_sum "
        "var_pop var_samp variance"
    ),
    "its result is of a type that the language does not have": (
        "aes_decrypt aes_encrypt date_from_unix_date decode encode make_dt_interval make_interval make_time "
        "make_ym_interval parse_json to_binary to_number to_time try_to_binary try_to_number "
        "hll_sketch_estimate make_timestamp_ntz to_timestamp_ntz convert_timezone decimal"
    ),
    "it can fail on single rows": "conv format_string printf str_to_map to_char to_varchar validate_utf8",
    "it depends on settings of the session": "from_json to_json from_csv to_csv from_xml to_xml months_between",
}

REFUSED: dict[str, str] = {name: why for why, names in _REASONS.items() for name in names.split()}
