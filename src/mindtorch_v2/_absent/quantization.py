"""The names of quantization, all that are public: there are no quantized tensors. Note [Names that refuse]."""

NAMES = {
    "ao.nn.intrinsic": (
        "_FusedModule BNReLU2d BNReLU3d ConvAdd2d ConvAddReLU2d ConvBn1d ConvBn2d ConvBn3d "
        "ConvBnReLU1d ConvBnReLU2d ConvBnReLU3d ConvReLU1d ConvReLU2d ConvReLU3d LinearBn1d "
        "LinearLeakyReLU LinearReLU LinearTanh"
    ),
    "ao.nn.intrinsic.modules": (
        "BNReLU2d BNReLU3d ConvAdd2d ConvAddReLU2d ConvBn1d ConvBn2d ConvBn3d ConvBnReLU1d "
        "ConvBnReLU2d ConvBnReLU3d ConvReLU1d ConvReLU2d ConvReLU3d LinearBn1d LinearLeakyReLU "
        "LinearReLU LinearTanh"
    ),
    "ao.nn.intrinsic.modules.fused": (
        "BNReLU2d BNReLU3d ConvAdd2d ConvAddReLU2d ConvBn1d ConvBn2d ConvBn3d ConvBnReLU1d "
        "ConvBnReLU2d ConvBnReLU3d ConvReLU1d ConvReLU2d ConvReLU3d LinearBn1d LinearLeakyReLU "
        "LinearReLU LinearTanh"
    ),
    "ao.nn.intrinsic.qat": (
        "ConvBn1d(from_float) ConvBn2d(from_float) ConvBn3d(from_float) ConvBnReLU1d(from_float) "
        "ConvBnReLU2d(from_float) ConvBnReLU3d(from_float) ConvReLU1d(from_float) "
        "ConvReLU2d(from_float) ConvReLU3d(from_float) freeze_bn_stats LinearBn1d(from_float) "
        "LinearReLU(from_float) update_bn_stats"
    ),
    "ao.nn.intrinsic.qat.modules": (
        "ConvBn1d(from_float) ConvBn2d(from_float) ConvBn3d(from_float) ConvBnReLU1d(from_float) "
        "ConvBnReLU2d(from_float) ConvBnReLU3d(from_float) ConvReLU1d(from_float) "
        "ConvReLU2d(from_float) ConvReLU3d(from_float) freeze_bn_stats LinearBn1d(from_float) "
        "LinearReLU(from_float) update_bn_stats"
    ),
    "ao.nn.intrinsic.qat.modules.conv_fused": (
        "ConvBn1d(from_float) ConvBn2d(from_float) ConvBn3d(from_float) ConvBnReLU1d(from_float) "
        "ConvBnReLU2d(from_float) ConvBnReLU3d(from_float) ConvReLU1d(from_float) "
        "ConvReLU2d(from_float) ConvReLU3d(from_float) freeze_bn_stats update_bn_stats"
    ),
    "ao.nn.intrinsic.qat.modules.linear_fused": "LinearBn1d(from_float)",
    "ao.nn.intrinsic.qat.modules.linear_relu": "LinearReLU(from_float)",
    "ao.nn.intrinsic.quantized": (
        "BNReLU2d(from_float) BNReLU3d(from_float) ConvAdd2d(from_float) ConvAddReLU2d(from_float) "
        "ConvReLU1d(from_float) ConvReLU2d(from_float) ConvReLU3d(from_float) "
        "LinearLeakyReLU(from_float) LinearReLU(from_float) LinearTanh(from_float)"
    ),
    "ao.nn.intrinsic.quantized.dynamic": "LinearReLU(from_float)",
    "ao.nn.intrinsic.quantized.dynamic.modules": "LinearReLU(from_float)",
    "ao.nn.intrinsic.quantized.dynamic.modules.linear_relu": "LinearReLU(from_float)",
    "ao.nn.intrinsic.quantized.modules": (
        "BNReLU2d(from_float) BNReLU3d(from_float) ConvAdd2d(from_float) ConvAddReLU2d(from_float) "
        "ConvReLU1d(from_float) ConvReLU2d(from_float) ConvReLU3d(from_float) "
        "LinearLeakyReLU(from_float) LinearReLU(from_float) LinearTanh(from_float)"
    ),
    "ao.nn.intrinsic.quantized.modules.bn_relu": "BNReLU2d(from_float) BNReLU3d(from_float)",
    "ao.nn.intrinsic.quantized.modules.conv_add": "ConvAdd2d(from_float) ConvAddReLU2d(from_float)",
    "ao.nn.intrinsic.quantized.modules.conv_relu": (
        "ConvReLU1d(from_float) ConvReLU2d(from_float) ConvReLU3d(from_float)"
    ),
    "ao.nn.intrinsic.quantized.modules.linear_relu": (
        "LinearLeakyReLU(from_float) LinearReLU(from_float) LinearTanh(from_float)"
    ),
    "ao.nn.qat": (
        "Conv1d(from_float) Conv2d(from_float) Conv3d(from_float) Embedding(from_float) "
        "EmbeddingBag(from_float) Linear(from_float)"
    ),
    "ao.nn.qat.dynamic": "Linear(from_float)",
    "ao.nn.qat.dynamic.modules": "Linear(from_float)",
    "ao.nn.qat.dynamic.modules.linear": "Linear(from_float)",
    "ao.nn.qat.modules": (
        "Conv1d(from_float) Conv2d(from_float) Conv3d(from_float) Embedding(from_float) "
        "EmbeddingBag(from_float) Linear(from_float)"
    ),
    "ao.nn.qat.modules.conv": "Conv1d(from_float) Conv2d(from_float) Conv3d(from_float)",
    "ao.nn.qat.modules.embedding_ops": "Embedding(from_float) EmbeddingBag(from_float)",
    "ao.nn.qat.modules.linear": "Linear(from_float)",
    "ao.nn.quantizable": (
        "LSTM(from_float,from_observed) LSTMCell(from_float) MultiheadAttention(from_float,from_observed)"
    ),
    "ao.nn.quantizable.modules": (
        "LSTM(from_float,from_observed) LSTMCell(from_float) MultiheadAttention(from_float,from_observed)"
    ),
    "ao.nn.quantizable.modules.activation": "MultiheadAttention(from_float,from_observed)",
    "ao.nn.quantizable.modules.rnn": "LSTM(from_float,from_observed) LSTMCell(from_float)",
    "ao.nn.quantized": (
        "BatchNorm2d(from_float) BatchNorm3d(from_float) Conv1d(from_float) Conv2d(from_float) "
        "Conv3d(from_float) ConvTranspose1d(from_float) ConvTranspose2d(from_float) "
        "ConvTranspose3d(from_float) DeQuantize(from_float) Dropout(from_float) ELU(from_float) "
        "Embedding(from_float) EmbeddingBag(from_float) FXFloatFunctional GroupNorm(from_float) "
        "Hardswish(from_float) InstanceNorm1d(from_float) InstanceNorm2d(from_float) "
        "InstanceNorm3d(from_float) LayerNorm(from_float) LeakyReLU(from_float) Linear(from_float) "
        "LSTM(from_float,from_observed) MultiheadAttention(from_float,from_observed) PReLU(from_float) "
        "QFunctional(from_float) Quantize(from_float) ReLU6(from_float) Sigmoid(from_float) "
        "Softmax(from_float)"
    ),
    "ao.nn.quantized.dynamic": (
        "Conv1d(from_float) Conv2d(from_float) Conv3d(from_float) ConvTranspose1d(from_float) "
        "ConvTranspose2d(from_float) ConvTranspose3d(from_float) GRU(from_float) GRUCell(from_float) "
        "Linear LSTM(from_float) LSTMCell(from_float) RNNCell(from_float)"
    ),
    "ao.nn.quantized.dynamic.modules": (
        "Conv1d(from_float) Conv2d(from_float) Conv3d(from_float) ConvTranspose1d(from_float) "
        "ConvTranspose2d(from_float) ConvTranspose3d(from_float) GRU(from_float) GRUCell(from_float) "
        "Linear(from_float) LSTM(from_float) LSTMCell(from_float) RNNCell(from_float)"
    ),
    "ao.nn.quantized.dynamic.modules.conv": (
        "Conv1d(from_float) Conv2d(from_float) Conv3d(from_float) ConvTranspose1d(from_float) "
        "ConvTranspose2d(from_float) ConvTranspose3d(from_float)"
    ),
    "ao.nn.quantized.dynamic.modules.linear": "Linear(from_float)",
    "ao.nn.quantized.dynamic.modules.rnn": (
        "apply_permutation GRU(from_float) GRUCell(from_float) LSTM(from_float) LSTMCell(from_float) "
        "pack_weight_bias PackedParameter RNNBase(from_float) RNNCell(from_float) "
        "RNNCellBase(from_float)"
    ),
    "ao.nn.quantized.functional": (
        "adaptive_avg_pool2d adaptive_avg_pool3d avg_pool2d avg_pool3d celu clamp conv1d conv2d conv3d "
        "elu hardsigmoid hardswish hardtanh interpolate leaky_relu linear max_pool1d max_pool2d "
        "threshold upsample upsample_bilinear upsample_nearest"
    ),
    "ao.nn.quantized.modules": (
        "BatchNorm2d(from_float) BatchNorm3d(from_float) Conv1d(from_float) Conv2d(from_float) "
        "Conv3d(from_float) ConvTranspose1d(from_float) ConvTranspose2d(from_float) "
        "ConvTranspose3d(from_float) DeQuantize(from_float) Dropout(from_float) ELU(from_float) "
        "Embedding(from_float) EmbeddingBag(from_float) FloatFunctional FXFloatFunctional "
        "GroupNorm(from_float) Hardswish(from_float) InstanceNorm1d(from_float) "
        "InstanceNorm2d(from_float) InstanceNorm3d(from_float) LayerNorm(from_float) "
        "LeakyReLU(from_float) Linear(from_float) LSTM(from_float,from_observed) "
        "MultiheadAttention(from_float,from_observed) PReLU(from_float) QFunctional(from_float) "
        "Quantize(from_float) ReLU6(from_float) Sigmoid(from_float) Softmax(from_float)"
    ),
    "ao.nn.quantized.modules.activation": (
        "ELU(from_float) Hardswish(from_float) LeakyReLU(from_float) "
        "MultiheadAttention(from_float,from_observed) PReLU(from_float) ReLU6(from_float) "
        "Sigmoid(from_float) Softmax(from_float)"
    ),
    "ao.nn.quantized.modules.batchnorm": "BatchNorm2d(from_float) BatchNorm3d(from_float)",
    "ao.nn.quantized.modules.conv": (
        "Conv1d(from_float) Conv2d(from_float) Conv3d(from_float) ConvTranspose1d(from_float) "
        "ConvTranspose2d(from_float) ConvTranspose3d(from_float)"
    ),
    "ao.nn.quantized.modules.dropout": "Dropout(from_float)",
    "ao.nn.quantized.modules.embedding_ops": (
        "Embedding(from_float) EmbeddingBag(from_float) EmbeddingPackedParams"
    ),
    "ao.nn.quantized.modules.functional_modules": "FloatFunctional FXFloatFunctional QFunctional(from_float)",
    "ao.nn.quantized.modules.linear": "Linear(from_float) LinearPackedParams",
    "ao.nn.quantized.modules.normalization": (
        "GroupNorm(from_float) InstanceNorm1d(from_float) InstanceNorm2d(from_float) "
        "InstanceNorm3d(from_float) LayerNorm(from_float)"
    ),
    "ao.nn.quantized.modules.rnn": "LSTM(from_float,from_observed)",
    "ao.nn.quantized.modules.utils": "_quantize_weight WeightedQuantizedModule",
    "ao.nn.quantized.reference": (
        "Conv1d(from_float) Conv2d(from_float) Conv3d(from_float) ConvTranspose1d(from_float) "
        "ConvTranspose2d(from_float) ConvTranspose3d(from_float) Embedding(from_float) "
        "EmbeddingBag(from_float) GRU(from_float) GRUCell(from_float) Linear(from_float) "
        "LSTM(from_float) LSTMCell(from_float) RNNCell(from_float)"
    ),
    "ao.nn.quantized.reference.modules": (
        "Conv1d(from_float) Conv2d(from_float) Conv3d(from_float) ConvTranspose1d(from_float) "
        "ConvTranspose2d(from_float) ConvTranspose3d(from_float) Embedding(from_float) "
        "EmbeddingBag(from_float) GRU(from_float) GRUCell(from_float) Linear(from_float) "
        "LSTM(from_float) LSTMCell(from_float) RNNCell(from_float)"
    ),
    "ao.nn.quantized.reference.modules.conv": (
        "Conv1d(from_float) Conv2d(from_float) Conv3d(from_float) ConvTranspose1d(from_float) "
        "ConvTranspose2d(from_float) ConvTranspose3d(from_float)"
    ),
    "ao.nn.quantized.reference.modules.linear": "Linear(from_float)",
    "ao.nn.quantized.reference.modules.rnn": (
        "get_quantized_weight GRU(from_float) GRUCell(from_float) LSTM(from_float) "
        "LSTMCell(from_float) RNNBase RNNCell(from_float) RNNCellBase"
    ),
    "ao.nn.quantized.reference.modules.sparse": "Embedding(from_float) EmbeddingBag(from_float)",
    "ao.nn.quantized.reference.modules.utils": "ReferenceQuantizedModule",
    "ao.nn.sparse": "",
    "ao.nn.sparse.quantized": "Linear(from_float) LinearPackedParams",
    "ao.nn.sparse.quantized.dynamic": "Linear(from_float)",
    "ao.nn.sparse.quantized.dynamic.linear": "Linear(from_float)",
    "ao.nn.sparse.quantized.linear": "Linear(from_float) LinearPackedParams",
    "ao.nn.sparse.quantized.utils": "LinearBlockSparsePattern",
    "ao.ns": "",
    "ao.ns.fx": "",
    "ao.ns.fx.graph_matcher": (
        "get_matching_subgraph_pairs GraphMatchingException "
        "SubgraphTypeRelationship=EQUAL,EQUAL_BUT_UKNOWN,RELATED_BUT_NOT_EQUAL,NOT_RELATED"
    ),
    "ao.ns.fx.graph_passes": "add_loggers_to_model create_a_shadows_b",
    "ao.ns.fx.mappings": (
        "add_op_to_sets_of_related_ops get_base_name_for_op get_base_name_to_sets_of_related_ops "
        "get_node_type_to_io_type_map get_unmatchable_types_map"
    ),
    "ao.ns.fx.n_shadows_utils": (
        "create_add_loggers_graph create_n_transformed_and_logged_copies_of_subgraph "
        "create_one_transformed_and_logged_copy_of_subgraph create_results_comparison "
        "create_submodule_from_subgraph extract_weight_comparison group_results_by_subgraph OutputProp "
        "print_n_shadows_summary"
    ),
    "ao.ns.fx.ns_types": "NSSingleResultValuesType=WEIGHT,NODE_OUTPUT,NODE_INPUT NSSubgraph",
    "ao.ns.fx.pattern_utils": "end_node_matches_reversed_fusion get_reversed_fusions get_type_a_related_to_b",
    "ao.ns.fx.qconfig_multi_mapping": "QConfigMultiMapping",
    "ao.ns.fx.utils": (
        "compute_cosine_similarity compute_normalized_l2_error compute_sqnr "
        "get_arg_indices_of_inputs_to_log get_node_first_input_and_output_type get_node_input_qparams "
        "get_normalized_nth_input get_number_of_non_param_args get_target_type_str "
        "maybe_add_missing_fqns maybe_dequantize_first_two_tensor_args_and_handle_tuples "
        "NodeInputOrOutputType=FP32,INT8,FP16,UNKNOWN,FP32_OR_INT8 op_type_supports_shadowing "
        "rekey_logger_info_on_node_name_of_model return_first_non_observer_node"
    ),
    "ao.ns.fx.weight_utils": (
        "extract_weight_from_node get_conv_fun_weight get_conv_mod_weight get_linear_fun_weight "
        "get_linear_mod_weight get_lstm_mod_weights get_lstm_weight "
        "get_op_to_type_to_weight_extraction_fn get_qconv_fun_weight get_qlinear_fun_weight "
        "get_qlstm_weight mod_0_weight_detach mod_weight_bias_0 mod_weight_detach"
    ),
    "ao.pruning": (
        "BaseScheduler BaseSparsifier CubicSL FakeSparsity fqn_to_module get_arg_info_from_tensor_fqn "
        "get_dynamic_sparse_quantized_mapping get_static_sparse_quantized_mapping LambdaSL "
        "module_to_fqn NearlyDiagonalSparsifier WeightNormSparsifier"
    ),
    "ao.pruning.scheduler": "",
    "ao.pruning.scheduler.base_scheduler": "BaseScheduler",
    "ao.pruning.scheduler.cubic_scheduler": "CubicSL",
    "ao.pruning.scheduler.lambda_scheduler": "LambdaSL",
    "ao.pruning.sparsifier": "",
    "ao.pruning.sparsifier.base_sparsifier": "BaseSparsifier",
    "ao.pruning.sparsifier.nearly_diagonal_sparsifier": "NearlyDiagonalSparsifier",
    "ao.pruning.sparsifier.utils": (
        "FakeSparsity fqn_to_module get_arg_info_from_tensor_fqn module_contains_param module_to_fqn "
        "swap_module"
    ),
    "ao.pruning.sparsifier.weight_norm_sparsifier": "WeightNormSparsifier",
    "ao.quantization": (
        "add_quant_dequant AffineQuantizedObserverBase(with_args) convert convert_dynamic_jit "
        "convert_jit default_activation_only_qconfig default_affine_fixed_qparams_fake_quant "
        "default_affine_fixed_qparams_observer default_debug_observer(with_args) default_debug_qconfig "
        "default_dynamic_fake_quant default_dynamic_qat_qconfig default_dynamic_qconfig "
        "default_dynamic_quant_observer default_embedding_fake_quant default_embedding_fake_quant_4bit "
        "default_embedding_qat_qconfig default_embedding_qat_qconfig_4bit default_eval_fn "
        "default_fake_quant default_fixed_qparams_range_0to1_fake_quant "
        "default_fixed_qparams_range_0to1_observer default_fixed_qparams_range_neg1to1_fake_quant "
        "default_fixed_qparams_range_neg1to1_observer default_float_qparams_observer "
        "default_float_qparams_observer_4bit default_fused_act_fake_quant "
        "default_fused_per_channel_wt_fake_quant default_fused_wt_fake_quant "
        "default_histogram_fake_quant default_histogram_observer default_observer "
        "default_per_channel_qconfig default_per_channel_symmetric_qnnpack_qat_qconfig "
        "default_per_channel_symmetric_qnnpack_qconfig default_per_channel_weight_fake_quant "
        "default_per_channel_weight_observer default_placeholder_observer() default_qat_qconfig "
        "default_qat_qconfig_v2 default_qconfig default_quint8_weight_qconfig "
        "default_reuse_input_observer(with_args) default_reuse_input_qconfig "
        "default_symmetric_fixed_qparams_fake_quant default_symmetric_fixed_qparams_observer "
        "default_symmetric_qnnpack_qat_qconfig default_symmetric_qnnpack_qconfig "
        "default_weight_fake_quant default_weight_observer default_weight_only_qconfig "
        "disable_fake_quant disable_observer enable_fake_quant enable_observer FakeQuantize(with_args) "
        "FakeQuantizeBase(with_args) FixedQParamsFakeQuantize(with_args) "
        "FixedQParamsObserver(with_args) float16_dynamic_qconfig float16_static_qconfig "
        "float_qparams_weight_only_qconfig float_qparams_weight_only_qconfig_4bit fuse_conv_bn "
        "fuse_conv_bn_jit fuse_conv_bn_relu fuse_convtranspose_bn fuse_linear_bn fuse_modules "
        "fuse_modules_qat fused_per_channel_wt_fake_quant_range_neg_127_to_127 "
        "fused_wt_fake_quant_range_neg_127_to_127 FusedMovingAvgObsFakeQuantize(with_args) "
        "get_block_size get_combined_dict get_default_compare_output_module_list "
        "get_default_custom_config_dict get_default_dynamic_quant_module_mappings "
        "get_default_dynamic_sparse_quant_module_mappings "
        "get_default_float_to_quantized_operator_mappings get_default_qat_module_mappings "
        "get_default_qat_qconfig get_default_qat_qconfig_dict get_default_qat_qconfig_mapping "
        "get_default_qconfig get_default_qconfig_dict get_default_qconfig_mapping "
        "get_default_qconfig_propagation_list get_default_static_quant_module_mappings "
        "get_default_static_quant_reference_module_mappings "
        "get_default_static_sparse_quant_module_mappings get_dynamic_quant_module_class "
        "get_embedding_qat_module_mappings get_embedding_static_quant_module_mappings get_fuser_method "
        "get_fuser_method_new get_observer_state_dict get_quantized_operator "
        "get_static_quant_module_class Granularity HistogramObserver(with_args) "
        "load_observer_state_dict MappingType=SYMMETRIC,SYMMETRIC_NO_CLIPPING_ERR,ASYMMETRIC "
        "MinMaxObserver(with_args) MovingAverageMinMaxObserver(with_args) "
        "MovingAveragePerChannelMinMaxObserver(with_args) no_observer_set NoopObserver(with_args) "
        "ObserverBase(with_args) per_channel_dynamic_qconfig "
        "per_channel_weight_observer_range_neg_127_to_127 PerAxis PerBlock "
        "PerChannelMinMaxObserver(with_args) PerGroup PerRow PerTensor PerToken "
        "PlaceholderObserver(with_args) prepare prepare_dynamic_jit prepare_jit prepare_qat "
        "propagate_qconfig_ QConfig(_fields) qconfig_equals QConfigDynamic QConfigMapping "
        "quantize_dynamic quantize_dynamic_jit quantize_qat QuantType=DYNAMIC,STATIC,QAT,WEIGHT_ONLY "
        "RecordingObserver(with_args) ReuseInputObserver(with_args) script_qconfig script_qconfig_dict "
        "swap_module TorchAODType=INT1,INT2,INT3,INT4,INT5,INT6,INT7 UniformQuantizationObserverBase "
        "weight_observer_range_neg_127_to_127 ZeroPointDomain=INT,FLOAT,NONE"
    ),
    "ao.quantization.backend_config": (
        "BackendConfig(from_dict) BackendPatternConfig(from_dict) DTypeConfig(from_dict) "
        "DTypeWithConstraints get_executorch_backend_config get_fbgemm_backend_config "
        "get_native_backend_config get_native_backend_config_dict get_onednn_backend_config "
        "get_qnnpack_backend_config get_tensorrt_backend_config get_tensorrt_backend_config_dict "
        "ObservationType=OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT,OUTPUT_SHARE_OBSERVER_WITH_INPUT,"
        "INPUT_OUTPUT_NOT_OBSERVED"
    ),
    "ao.quantization.backend_config.backend_config": (
        "BackendConfig(from_dict) BackendPatternConfig(from_dict) DTypeConfig(from_dict) "
        "DTypeWithConstraints "
        "ObservationType=OUTPUT_USE_DIFFERENT_OBSERVER_AS_INPUT,OUTPUT_SHARE_OBSERVER_WITH_INPUT,"
        "INPUT_OUTPUT_NOT_OBSERVED"
    ),
    "ao.quantization.backend_config.executorch": "get_executorch_backend_config",
    "ao.quantization.backend_config.fbgemm": "get_fbgemm_backend_config",
    "ao.quantization.backend_config.native": (
        "default_dynamic_float16_dtype_config default_dynamic_int8_dtype_config "
        "default_op_fp16_dtype_config default_op_quint8_dtype_config get_native_backend_config "
        "get_native_backend_config_dict get_test_only_legacy_native_backend_config "
        "get_test_only_legacy_native_backend_config_dict input_output_only_quint8_dtype_config "
        "weight_only_quint4x2_dtype_config weight_only_quint8_dtype_config"
    ),
    "ao.quantization.backend_config.onednn": "get_onednn_backend_config",
    "ao.quantization.backend_config.qnnpack": "get_qnnpack_backend_config",
    "ao.quantization.backend_config.tensorrt": "get_tensorrt_backend_config get_tensorrt_backend_config_dict",
    "ao.quantization.backend_config.utils": (
        "entry_to_pretty_str get_fused_module_classes get_fuser_method_mapping "
        "get_fusion_pattern_to_extra_inputs_getter get_fusion_pattern_to_root_node_getter "
        "get_module_to_qat_module get_pattern_to_dtype_configs get_pattern_to_input_type_to_index "
        "get_qat_module_classes get_root_module_to_quantized_reference_module "
        "pattern_to_human_readable remove_boolean_dispatch_from_name"
    ),
    "ao.quantization.backend_config.x86": "get_x86_backend_config",
    "ao.quantization.fake_quantize": (
        "default_affine_fixed_qparams_fake_quant default_dynamic_fake_quant "
        "default_embedding_fake_quant default_embedding_fake_quant_4bit default_fake_quant "
        "default_fixed_qparams_range_0to1_fake_quant default_fixed_qparams_range_neg1to1_fake_quant "
        "default_fused_act_fake_quant default_fused_per_channel_wt_fake_quant "
        "default_fused_wt_fake_quant default_histogram_fake_quant "
        "default_per_channel_weight_fake_quant default_symmetric_fixed_qparams_fake_quant "
        "default_weight_fake_quant disable_fake_quant disable_observer enable_fake_quant "
        "enable_observer FakeQuantize FakeQuantizeBase(with_args) FixedQParamsFakeQuantize(with_args) "
        "fused_per_channel_wt_fake_quant_range_neg_127_to_127 fused_wt_fake_quant_range_neg_127_to_127 "
        "FusedMovingAvgObsFakeQuantize(with_args)"
    ),
    "ao.quantization.fuse_modules": "fuse_known_modules fuse_modules fuse_modules_qat",
    "ao.quantization.fuser_method_mappings": (
        "fuse_conv_bn fuse_conv_bn_relu fuse_convtranspose_bn fuse_linear_bn get_fuser_method "
        "get_fuser_method_new"
    ),
    "ao.quantization.fx": "",
    "ao.quantization.fx._decomposed": (
        "_per_token_quant_qparam_dim_check quantize_per_channel_group quantized_decomposed_lib"
    ),
    "ao.quantization.fx._equalize": "convert_eq_obs update_obs_for_equalization",
    "ao.quantization.fx.convert": (
        "convert convert_custom_module convert_standalone_module convert_weighted_module"
    ),
    "ao.quantization.fx.custom_config": (
        "ConvertCustomConfig(from_dict) FuseCustomConfig(from_dict) PrepareCustomConfig "
        "StandaloneModuleConfigEntry"
    ),
    "ao.quantization.fx.fuse": "fuse FuseHandler",
    "ao.quantization.fx.fuse_handler": "DefaultFuseHandler FuseHandler",
    "ao.quantization.fx.graph_module": (
        "_is_observed_module _is_observed_standalone_module FusedGraphModule ObservedGraphModule "
        "ObservedStandaloneGraphModule QuantizedGraphModule"
    ),
    "ao.quantization.fx.lower_to_fbgemm": "lower_to_fbgemm",
    "ao.quantization.fx.lower_to_qnnpack": "lower_to_qnnpack",
    "ao.quantization.fx.lstm_utils": "",
    "ao.quantization.fx.match_utils": "",
    "ao.quantization.fx.pattern_utils": (
        "get_default_fusion_patterns get_default_output_activation_post_process_map "
        "get_default_quant_patterns"
    ),
    "ao.quantization.fx.prepare": (
        "_insert_obs_or_fq _save_state insert_observers_for_model prepare propagate_dtypes_for_known_nodes"
    ),
    "ao.quantization.fx.qconfig_mapping_utils": (
        "_compare_prepare_convert_qconfig_mappings _generate_node_name_to_qconfig "
        "_is_qconfig_supported_by_dtype_configs _update_qconfig_for_fusion _update_qconfig_for_qat"
    ),
    "ao.quantization.fx.quantize_handler": (
        "BatchNormQuantizeHandler BinaryOpQuantizeHandler CatQuantizeHandler ConvReluQuantizeHandler "
        "CopyNodeQuantizeHandler CustomModuleQuantizeHandler DefaultNodeQuantizeHandler "
        "EmbeddingQuantizeHandler FixedQParamsOpQuantizeHandler GeneralTensorShapeOpQuantizeHandler "
        "LinearReLUQuantizeHandler QuantizeHandler RNNDynamicQuantizeHandler "
        "StandaloneModuleQuantizeHandler"
    ),
    "ao.quantization.fx.tracer": "QuantizationTracer",
    "ao.quantization.fx.utils": (
        "_get_module all_node_args_except_first all_node_args_have_no_tensors "
        "assert_and_get_unique_device collect_producer_nodes create_getattr_from_value "
        "create_node_from_old_node_preserve_meta get_custom_module_class_keys "
        "get_linear_prepack_op_for_dtype get_new_attr_name_with_prefix "
        "get_non_observable_arg_indexes_and_types get_qconv_prepack_op "
        "get_skipped_module_name_and_classes graph_module_from_producer_nodes maybe_get_next_module "
        "node_arg_is_bias node_arg_is_weight NodeInfo ObservedGraphModuleAttrs return_arg_list"
    ),
    "ao.quantization.observer": (
        "AffineQuantizedObserverBase default_affine_fixed_qparams_observer "
        "default_debug_observer(with_args) default_dynamic_quant_observer "
        "default_fixed_qparams_range_0to1_observer default_fixed_qparams_range_neg1to1_observer "
        "default_float_qparams_observer default_float_qparams_observer_4bit default_histogram_observer "
        "default_observer default_per_channel_weight_observer default_placeholder_observer(with_args) "
        "default_reuse_input_observer(with_args) default_symmetric_fixed_qparams_observer "
        "default_weight_observer FixedQParamsObserver(with_args) get_block_size "
        "get_observer_state_dict Granularity HistogramObserver(with_args) load_observer_state_dict "
        "MappingType=SYMMETRIC,SYMMETRIC_NO_CLIPPING_ERR,ASYMMETRIC MinMaxObserver "
        "MovingAverageMinMaxObserver(with_args) MovingAveragePerChannelMinMaxObserver(with_args) "
        "NoopObserver(with_args) ObserverBase per_channel_weight_observer_range_neg_127_to_127 PerAxis "
        "PerBlock PerChannelMinMaxObserver(with_args) PerGroup PerRow PerTensor PerToken "
        "PlaceholderObserver(with_args) RecordingObserver(with_args) ReuseInputObserver(with_args) "
        "TorchAODType=INT1,INT2,INT3,INT4,INT5,INT6,INT7 UniformQuantizationObserverBase "
        "weight_observer_range_neg_127_to_127 ZeroPointDomain=INT,FLOAT,NONE"
    ),
    "ao.quantization.qconfig": (
        "default_activation_only_qconfig default_debug_qconfig default_dynamic_qat_qconfig "
        "default_dynamic_qconfig default_embedding_qat_qconfig default_embedding_qat_qconfig_4bit "
        "default_per_channel_qconfig default_per_channel_symmetric_qnnpack_qat_qconfig "
        "default_per_channel_symmetric_qnnpack_qconfig default_qat_qconfig default_qat_qconfig_v2 "
        "default_qconfig default_quint8_weight_qconfig default_reuse_input_qconfig "
        "default_symmetric_qnnpack_qat_qconfig default_symmetric_qnnpack_qconfig "
        "default_weight_only_qconfig float16_dynamic_qconfig float16_static_qconfig "
        "float_qparams_weight_only_qconfig float_qparams_weight_only_qconfig_4bit "
        "get_default_qat_qconfig get_default_qat_qconfig_dict get_default_qconfig "
        "get_default_qconfig_dict per_channel_dynamic_qconfig QConfig qconfig_equals QConfigAny "
        "QConfigDynamic"
    ),
    "ao.quantization.qconfig_mapping": (
        "get_default_qat_qconfig_mapping get_default_qconfig_mapping QConfigMapping(from_dict)"
    ),
    "ao.quantization.quant_type": "QuantType=DYNAMIC,STATIC,QAT,WEIGHT_ONLY",
    "ao.quantization.quantization_mappings": (
        "get_default_compare_output_module_list get_default_dynamic_quant_module_mappings "
        "get_default_dynamic_sparse_quant_module_mappings "
        "get_default_float_to_quantized_operator_mappings get_default_qat_module_mappings "
        "get_default_qconfig_propagation_list get_default_static_quant_module_mappings "
        "get_default_static_quant_reference_module_mappings "
        "get_default_static_sparse_quant_module_mappings get_dynamic_quant_module_class "
        "get_embedding_qat_module_mappings get_embedding_static_quant_module_mappings "
        "get_quantized_operator get_static_quant_module_class no_observer_set"
    ),
    "ao.quantization.quantize": (
        "_remove_qconfig add_quant_dequant convert get_default_custom_config_dict prepare prepare_qat "
        "propagate_qconfig_ quantize quantize_dynamic quantize_qat swap_module"
    ),
    "ao.quantization.quantize_fx": (
        "attach_preserved_attrs_to_model convert_fx convert_to_reference_fx fuse_fx prepare_fx prepare_qat_fx"
    ),
    "ao.quantization.quantize_jit": (
        "convert_dynamic_jit convert_jit fuse_conv_bn_jit prepare_dynamic_jit prepare_jit "
        "quantize_dynamic_jit quantize_jit script_qconfig script_qconfig_dict"
    ),
    "ao.quantization.utils": (
        "_parent_name activation_dtype activation_is_dynamically_quantized "
        "activation_is_int32_quantized activation_is_int8_quantized activation_is_statically_quantized "
        "calculate_qmin_qmax check_min_max_valid check_node determine_qparams get_combined_dict "
        "get_fqn_to_example_inputs get_qconfig_dtypes get_qparam_dict get_quant_type "
        "get_swapped_custom_module_class getattr_from_fqn has_no_children_ignoring_parametrizations "
        "is_per_channel is_per_tensor MatchAllNode op_is_int8_dynamically_quantized "
        "to_underlying_dtype validate_qmin_qmax weight_dtype weight_is_quantized "
        "weight_is_statically_quantized"
    ),
    "nn.intrinsic": (
        "BNReLU2d BNReLU3d ConvBn1d ConvBn2d ConvBn3d ConvBnReLU1d ConvBnReLU2d ConvBnReLU3d "
        "ConvReLU1d ConvReLU2d ConvReLU3d LinearBn1d LinearReLU"
    ),
    "nn.intrinsic.modules": (
        "BNReLU2d BNReLU3d ConvBn1d ConvBn2d ConvBn3d ConvBnReLU1d ConvBnReLU2d ConvBnReLU3d "
        "ConvReLU1d ConvReLU2d ConvReLU3d LinearBn1d LinearReLU"
    ),
    "nn.intrinsic.modules.fused": (
        "BNReLU2d BNReLU3d ConvBn1d ConvBn2d ConvBn3d ConvBnReLU1d ConvBnReLU2d ConvBnReLU3d "
        "ConvReLU1d ConvReLU2d ConvReLU3d LinearBn1d LinearReLU"
    ),
    "nn.intrinsic.qat": (
        "ConvBn1d(from_float) ConvBn2d(from_float) ConvBn3d(from_float) ConvBnReLU1d(from_float) "
        "ConvBnReLU2d(from_float) ConvBnReLU3d(from_float) ConvReLU1d(from_float) "
        "ConvReLU2d(from_float) ConvReLU3d(from_float) freeze_bn_stats LinearBn1d(from_float) "
        "LinearReLU(from_float) update_bn_stats"
    ),
    "nn.intrinsic.qat.modules": (
        "ConvBn1d(from_float) ConvBn2d(from_float) ConvBn3d(from_float) ConvBnReLU1d(from_float) "
        "ConvBnReLU2d(from_float) ConvBnReLU3d(from_float) ConvReLU1d(from_float) "
        "ConvReLU2d(from_float) ConvReLU3d(from_float) freeze_bn_stats LinearBn1d(from_float) "
        "LinearReLU(from_float) update_bn_stats"
    ),
    "nn.intrinsic.qat.modules.conv_fused": (
        "ConvBn1d(from_float) ConvBn2d(from_float) ConvBn3d(from_float) ConvBnReLU1d(from_float) "
        "ConvBnReLU2d(from_float) ConvBnReLU3d(from_float) ConvReLU1d(from_float) "
        "ConvReLU2d(from_float) ConvReLU3d(from_float) freeze_bn_stats update_bn_stats"
    ),
    "nn.intrinsic.qat.modules.linear_fused": "LinearBn1d(from_float)",
    "nn.intrinsic.qat.modules.linear_relu": "LinearReLU(from_float)",
    "nn.intrinsic.quantized": (
        "BNReLU2d(from_float) BNReLU3d(from_float) ConvReLU1d(from_float) ConvReLU2d(from_float) "
        "ConvReLU3d(from_float) LinearReLU(from_float)"
    ),
    "nn.intrinsic.quantized.dynamic": "LinearReLU(from_float)",
    "nn.intrinsic.quantized.dynamic.modules": "LinearReLU(from_float)",
    "nn.intrinsic.quantized.dynamic.modules.linear_relu": "LinearReLU(from_float)",
    "nn.intrinsic.quantized.modules": (
        "BNReLU2d(from_float) BNReLU3d(from_float) ConvReLU1d(from_float) ConvReLU2d(from_float) "
        "ConvReLU3d(from_float) LinearReLU(from_float)"
    ),
    "nn.intrinsic.quantized.modules.bn_relu": "BNReLU2d(from_float) BNReLU3d(from_float)",
    "nn.intrinsic.quantized.modules.conv_relu": (
        "ConvReLU1d(from_float) ConvReLU2d(from_float) ConvReLU3d(from_float)"
    ),
    "nn.intrinsic.quantized.modules.linear_relu": "LinearReLU(from_float)",
    "nn.qat": (
        "Conv1d(from_float) Conv2d(from_float) Conv3d(from_float) Embedding(from_float) "
        "EmbeddingBag(from_float) Linear(from_float)"
    ),
    "nn.qat.dynamic": "Linear(from_float)",
    "nn.qat.dynamic.modules": "Linear(from_float)",
    "nn.qat.dynamic.modules.linear": "",
    "nn.qat.modules": (
        "Conv1d(from_float) Conv2d(from_float) Conv3d(from_float) Embedding(from_float) "
        "EmbeddingBag(from_float) Linear(from_float)"
    ),
    "nn.qat.modules.conv": "",
    "nn.qat.modules.embedding_ops": "Embedding(from_float) EmbeddingBag(from_float)",
    "nn.qat.modules.linear": "",
    "nn.quantizable": (
        "LSTM(from_float,from_observed) LSTMCell(from_float) MultiheadAttention(from_float,from_observed)"
    ),
    "nn.quantizable.modules": (
        "LSTM(from_float,from_observed) LSTMCell(from_float) MultiheadAttention(from_float,from_observed)"
    ),
    "nn.quantizable.modules.activation": "",
    "nn.quantizable.modules.rnn": "",
    "nn.quantized": (
        "BatchNorm2d BatchNorm3d(from_float) Conv1d(from_float) Conv2d(from_float) Conv3d(from_float) "
        "ConvTranspose1d(from_float) ConvTranspose2d(from_float) ConvTranspose3d(from_float) "
        "DeQuantize(from_float) Dropout(from_float) ELU(from_float) Embedding(from_float) "
        "EmbeddingBag(from_float) FXFloatFunctional GroupNorm(from_float) Hardswish(from_float) "
        "InstanceNorm1d(from_float) InstanceNorm2d(from_float) InstanceNorm3d(from_float) "
        "LayerNorm(from_float) LeakyReLU(from_float) Linear(from_float) LSTM(from_float,from_observed) "
        "MultiheadAttention(from_float,from_observed) PReLU(from_float) QFunctional(from_float) "
        "Quantize(from_float) ReLU6(from_float) Sigmoid(from_float) Softmax(from_float)"
    ),
    "nn.quantized.dynamic": (
        "Conv1d(from_float) Conv2d(from_float) Conv3d(from_float) ConvTranspose1d(from_float) "
        "ConvTranspose2d(from_float) ConvTranspose3d(from_float) GRU(from_float) GRUCell(from_float) "
        "Linear LSTM LSTMCell(from_float) RNNCell(from_float)"
    ),
    "nn.quantized.dynamic.modules": (
        "Conv1d(from_float) Conv2d(from_float) Conv3d(from_float) ConvTranspose1d(from_float) "
        "ConvTranspose2d(from_float) ConvTranspose3d(from_float) GRU(from_float) GRUCell(from_float) "
        "Linear(from_float) LSTM(from_float) LSTMCell(from_float) RNNCell(from_float)"
    ),
    "nn.quantized.dynamic.modules.conv": (
        "Conv1d(from_float) Conv2d(from_float) Conv3d(from_float) ConvTranspose1d(from_float) "
        "ConvTranspose2d(from_float) ConvTranspose3d(from_float)"
    ),
    "nn.quantized.dynamic.modules.linear": "",
    "nn.quantized.dynamic.modules.rnn": (
        "GRU(from_float) GRUCell(from_float) LSTM(from_float) LSTMCell(from_float) pack_weight_bias "
        "PackedParameter RNNBase(from_float) RNNCell(from_float) RNNCellBase(from_float)"
    ),
    "nn.quantized.functional": "conv1d conv2d conv3d linear",
    "nn.quantized.modules": (
        "BatchNorm2d(from_float) BatchNorm3d(from_float) Conv1d(from_float) Conv2d(from_float) "
        "Conv3d(from_float) ConvTranspose1d(from_float) ConvTranspose2d(from_float) "
        "ConvTranspose3d(from_float) DeQuantize(from_float) Dropout(from_float) ELU(from_float) "
        "Embedding(from_float) EmbeddingBag(from_float) FloatFunctional FXFloatFunctional "
        "GroupNorm(from_float) Hardswish(from_float) InstanceNorm1d(from_float) "
        "InstanceNorm2d(from_float) InstanceNorm3d(from_float) LayerNorm(from_float) "
        "LeakyReLU(from_float) Linear(from_float) LSTM(from_float,from_observed) "
        "MultiheadAttention(from_float,from_observed) PReLU(from_float) QFunctional(from_float) "
        "Quantize(from_float) ReLU6(from_float) Sigmoid(from_float) Softmax(from_float)"
    ),
    "nn.quantized.modules.activation": "",
    "nn.quantized.modules.batchnorm": "",
    "nn.quantized.modules.conv": (
        "Conv1d(from_float) Conv2d(from_float) Conv3d(from_float) ConvTranspose1d(from_float) "
        "ConvTranspose2d(from_float) ConvTranspose3d(from_float)"
    ),
    "nn.quantized.modules.dropout": "Dropout(from_float)",
    "nn.quantized.modules.embedding_ops": (
        "Embedding(from_float) EmbeddingBag(from_float) EmbeddingPackedParams"
    ),
    "nn.quantized.modules.functional_modules": "FloatFunctional FXFloatFunctional QFunctional(from_float)",
    "nn.quantized.modules.linear": "Linear(from_float) LinearPackedParams",
    "nn.quantized.modules.normalization": (
        "GroupNorm(from_float) InstanceNorm1d(from_float) InstanceNorm2d(from_float) "
        "InstanceNorm3d(from_float) LayerNorm(from_float)"
    ),
    "nn.quantized.modules.rnn": "",
    "nn.quantized.modules.utils": "",
    "quantization": (
        "_convert_ondevice_dynamic_jit _prepare_ondevice_dynamic_jit _quantize_ondevice_dynamic_jit "
        "add_quant_dequant convert convert_dynamic_jit convert_jit default_activation_only_qconfig "
        "default_debug_observer(with_args) default_debug_qconfig default_dynamic_qconfig "
        "default_dynamic_quant_observer default_eval_fn default_fake_quant "
        "default_fixed_qparams_range_0to1_fake_quant default_fixed_qparams_range_neg1to1_fake_quant "
        "default_float_qparams_observer default_fused_act_fake_quant "
        "default_fused_per_channel_wt_fake_quant default_fused_wt_fake_quant "
        "default_histogram_fake_quant default_histogram_observer default_observer "
        "default_per_channel_qconfig default_per_channel_weight_fake_quant "
        "default_per_channel_weight_observer default_placeholder_observer(with_args) "
        "default_qat_qconfig default_qat_qconfig_v2 default_qconfig default_weight_fake_quant "
        "default_weight_observer default_weight_only_qconfig disable_fake_quant disable_observer "
        "enable_fake_quant enable_observer FakeQuantize FakeQuantizeBase(with_args) "
        "FixedQParamsFakeQuantize(with_args) float16_dynamic_qconfig float16_static_qconfig "
        "float_qparams_weight_only_qconfig fuse_conv_bn fuse_conv_bn_jit fuse_conv_bn_relu "
        "fuse_linear_bn FusedMovingAvgObsFakeQuantize(with_args) "
        "get_default_compare_output_module_list get_default_dynamic_quant_module_mappings "
        "get_default_float_to_quantized_operator_mappings get_default_qat_module_mappings "
        "get_default_qat_qconfig get_default_qconfig get_default_qconfig_propagation_list "
        "get_default_static_quant_module_mappings get_dynamic_quant_module_class get_fuser_method "
        "get_observer_state_dict get_quantized_operator get_static_quant_module_class "
        "HistogramObserver(with_args) load_observer_state_dict MinMaxObserver(with_args) "
        "MovingAverageMinMaxObserver(with_args) MovingAveragePerChannelMinMaxObserver(with_args) "
        "no_observer_set NoopObserver(with_args) ObserverBase(with_args) per_channel_dynamic_qconfig "
        "PerChannelMinMaxObserver(with_args) PlaceholderObserver(with_args) prepare "
        "prepare_dynamic_jit prepare_jit prepare_qat propagate_qconfig_ QConfig qconfig_equals "
        "QConfigDynamic quantize_dynamic quantize_dynamic_jit quantize_qat "
        "QuantType=DYNAMIC,STATIC,QAT,WEIGHT_ONLY RecordingObserver(with_args) script_qconfig "
        "script_qconfig_dict swap_module"
    ),
    "quantization.fake_quantize": "FakeQuantize",
    "quantization.fuse_modules": "",
    "quantization.fuser_method_mappings": "",
    "quantization.fx": "",
    "quantization.fx.convert": "",
    "quantization.fx.fuse": "",
    "quantization.fx.fusion_patterns": "",
    "quantization.fx.graph_module": "",
    "quantization.fx.match_utils": "",
    "quantization.fx.pattern_utils": "",
    "quantization.fx.prepare": "",
    "quantization.fx.quantization_patterns": "",
    "quantization.fx.quantization_types": "",
    "quantization.fx.utils": "",
    "quantization.observer": "HistogramObserver MinMaxObserver(with_args) PerChannelMinMaxObserver",
    "quantization.qconfig": "QConfig",
    "quantization.quant_type": "",
    "quantization.quantization_mappings": "get_default_qconfig_propagation_list",
    "quantization.quantize": "",
    "quantization.quantize_fx": "",
    "quantization.quantize_jit": "convert_jit prepare_jit",
    "quantization.stubs": "",
    "quantization.utils": "",
}
