"""Which names of PyTorch's are not here, and why. Note [Names that refuse]; `_made` in making.py reads the entries."""

from . import distributed, quantization

# Modules of the table of which something is written, and where.
WRITTEN = {
    "_C._distributed_c10d": "distributed._native_names",
    "quantization.stubs": "ao.quantization.stubs",
}

_NOT_BETWEEN_PROCESSES = "it is not written yet; docs/distributed.md says what torch.distributed has"
_NO_GRAPHS = (
    "programs run as they are, without a compiler and without graphs; call the function or module itself"
)
_NO_QUANTIZED = "there are no quantized tensors; run the model in float32 or bfloat16"
_NO_DEVICE = "there is no such device; ask is_available() first"

# By the beginning of a module's name; the longest one that fits.
REASONS = {
    "": "it is not written yet; docs/running_pytorch_programs.md says what differs from PyTorch",
    "_C": "it belongs to PyTorch's C++ library; use the public function that calls it there",
    "_C._distributed_c10d": _NOT_BETWEEN_PROCESSES,
    "_C._distributed_rpc": _NOT_BETWEEN_PROCESSES,
    "_dynamo": _NO_GRAPHS,
    "_export": _NO_GRAPHS,
    "_functorch": _NO_GRAPHS,
    "_guards": _NO_GRAPHS,
    "_higher_order_ops": _NO_GRAPHS,
    "_inductor": _NO_GRAPHS,
    "_subclasses": _NO_GRAPHS,
    "ao": _NO_QUANTIZED,
    "compiler": _NO_GRAPHS,
    "cuda": _NO_DEVICE,
    "distributed": _NOT_BETWEEN_PROCESSES,
    "export": _NO_GRAPHS,
    "functorch": _NO_GRAPHS,
    "fx": "it works on graphs of operators below the level of torch functions, which are not recorded here",
    "jit": "there is no TorchScript; call the function or module itself",
    "mps": _NO_DEVICE,
    "mtia": _NO_DEVICE,
    "nested": "it is a part of how PyTorch makes nested tensors; use the functions of torch.nested",
    "nn.intrinsic": _NO_QUANTIZED,
    "nn.parallel": "a process uses one device; start one for each, with DistributedDataParallel",
    "nn.qat": _NO_QUANTIZED,
    "nn.quantizable": _NO_QUANTIZED,
    "nn.quantized": _NO_QUANTIZED,
    "onnx": "models are not exported; export the checkpoint with PyTorch",
    "ops._c10d_functional": _NOT_BETWEEN_PROCESSES,
    "ops._c10d_functional_autograd": _NOT_BETWEEN_PROCESSES,
    "ops.c10d_functional": _NOT_BETWEEN_PROCESSES,
    "ops.image": _NO_DEVICE,
    "ops.torchvision": _NO_QUANTIZED,
    "quantization": _NO_QUANTIZED,
    "sparse": "it is for devices that multiply matrices with two zeros in each four elements; use dense ones",
    "testing._internal": "it is a part of PyTorch's own tests; use torch.testing",
    "utils.cpp_extension": (
        "C++ extensions are compiled against PyTorch's C++ library. Register an operator from Python with "
        "custom_op (from torch import library), or exchange tensors with native code by DLPack or numpy"
    ),
    "utils.data.datapipes": "files are read by a Dataset",
    "xpu": _NO_DEVICE,
}

_FUNCTIONAL_COLLECTIVES = (
    "all_gather_into_tensor all_gather_into_tensor_coalesced all_reduce all_reduce_coalesced all_to_all_single "
    "batch_p2p_ops broadcast irecv isend reduce_scatter_tensor reduce_scatter_tensor_coalesced wait_tensor"
)

NAMES = {
    "": (
        "_addmm_activation "
        "_convert_weight_to_int4pack _convert_weight_to_int4pack_for_cpu _cslt_compress _cslt_sparse_mm "
        "@_disable_dynamo _fake_quantize_learnable_per_channel_affine "
        "_fake_quantize_learnable_per_tensor_affine _fused_sdp_choice _grouped_mm "
        "_has_compatible_shallow_copy_type _make_per_tensor_quantized_tensor "
        "_nested_compute_contiguous_strides_offsets _nested_view_from_buffer @_register_device_module "
        "_sample_dirichlet _scaled_grouped_mm _scaled_mm _sparse_semi_structured_apply "
        "_sparse_semi_structured_apply_dense _sparse_semi_structured_tile _standard_gamma _sync "
        "_weight_int4pack_mm _weight_int4pack_mm_for_cpu _weight_int8pack_mm AnyType "
        "ComplexType DeviceObjType DictType empty_quantized "
        "fake_quantize_per_channel_affine fake_quantize_per_tensor_affine %float4_e2m1fn_x2 "
        "FloatType fused_moving_avg_obs_fake_quant Graph "
        "%int1 %int2 %int3 %int4 %int5 %int6 %int7 IntType ListType OptionalType %per_channel_affine "
        "%per_channel_affine_float_qparams %per_channel_symmetric %per_tensor_affine %per_tensor_symmetric "
        "%qint32 %qint8 qscheme() quantize_per_channel quantize_per_tensor "
        "quantize_per_tensor_dynamic %quint2x4 %quint4x2 %quint8 ScriptObject set_vital "
        "StringType TensorType TupleType Type %uint1 %uint2 %uint3 "
        "%uint4 %uint5 %uint6 %uint7 Value"
    ),
    "_C": (
        "_accelerator_getAllocatorSettings _accelerator_setAllocatorSettings "
        "_construct_storage_from_data_pointer "
        "_cuda_beginAllocateCurrentThreadToPool() _cuda_beginAllocateToPool() _cuda_endAllocateToPool() "
        "_cuda_releasePool() "
        "_dispatch_dump _dispatch_has_kernel_for_dispatch_key _dispatch_key_for_device "
        "_ExcludeDispatchKeyGuard _get_accelerator ?_get_cudnn_enabled _get_operation_overload _get_schema "
        "_InferenceMode ?_is_tracing ?_jit_can_fuse_on_cpu "
        "?_jit_can_fuse_on_gpu _jit_clear_class_registry _jit_get_operation _jit_get_schemas_for_operator "
        "?_jit_override_can_fuse_on_cpu ?_jit_override_can_fuse_on_gpu ?_jit_set_nvfuser_enabled "
        "?_jit_set_nvfuser_guard_mode ?_jit_set_profiling_executor ?_jit_set_profiling_mode "
        "?_jit_set_texpr_fuser_enabled ?_len_torch_dispatch_stack _set_math_sdp_allow_fp16_bf16_reduction "
        "_set_tracing_state _show_config _storage_Use_Count DispatchKey=Undefined,"
        "Dense,CPU,CUDA,XPU,MPS,Meta,PrivateUse1,BackendSelect,Python,Functionalize,ADInplaceOrView,"
        "CompositeImplicitAutograd,CompositeExplicitAutograd,Autograd,AutogradCPU,AutogradCUDA,AutogradXPU,"
        "AutogradMeta,AutogradPrivateUse1,AutogradFunctionality,AutocastCPU,AutocastCUDA,AutocastXPU,"
        "AutocastMPS,AutocastPrivateUse1,FuncTorchBatched,PreDispatch,SparseCPU,SparseCUDA,QuantizedCPU,"
        "QuantizedCUDA FunctionSchema OptionalType ScriptDict ScriptFunction ScriptList "
        "ScriptMethod ScriptObject Value parse_schema"
    ),
    "_C._autograd": (
        "_KinetoEvent ?_profiler_enabled _ProfilerResult DeviceType=CPU,"
        "CUDA,MKLDNN,OPENGL,OPENCL,IDEEP,HIP,FPGA,MAIA,XLA,Vulkan,Metal,XPU,MPS,MTIA,Meta,HPU,VE,Lazy,IPU,"
        "PrivateUse1"
    ),
    "_C._cpu": "",
    "_C._jit_tree_views": "SourceRangeFactory",
    "_C._onnx": "OperatorExportTypes=ONNX,ONNX_ATEN,ONNX_ATEN_FALLBACK,ONNX_FALLTHROUGH",
    "_C._verbose": "mkldnn_set_verbose",
    "_appdirs": "user_cache_dir",
    "_custom_op.impl": "infer_schema",
    "_custom_ops": "get_ctx",
    "_dispatch.python": "enable_python_dispatcher()",
    "_dynamo": "@disallow_in_graph explain export @nonstrict_trace @optimize",
    "_dynamo.aot_compile": "SerializableCallable",
    "_dynamo.backends.common": "@fake_tensor_unsupported",
    "_dynamo.backends.registry": "list_backends @register_backend",
    "_dynamo.compiled_autograd": "_enable",
    "_dynamo.convert_frame": "compile_lock GraphCaptureOutput(get_runtime_env) @register_bytecode_hook",
    "_dynamo.decorators": "@mark_static @mark_unbacked",
    "_dynamo.eval_frame": "remove_from_cache",
    "_dynamo.exc": "TensorifyScalarRestartAnalysis",
    "_dynamo.guards": "GuardBuilder(ID_MATCH)",
    "_dynamo.output_graph": "OutputGraph(_get_stack_values_to_restore)",
    "_dynamo.source": (
        "ConstantSource GlobalSource LocalSource NegateSource TensorProperty=SIZE,STRIDE,STORAGE_OFFSET "
        "TensorPropertySource"
    ),
    "_dynamo.symbolic_convert": "InliningInstructionTranslator(inline_call_)",
    "_dynamo.utils": (
        "counters deepcopy_to_fake_tensor ?disable_cache_limit dynamo_timed get_metrics_context "
        "?is_compile_supported lazy_format_graph_code warn_once"
    ),
    "_dynamo.variables": (
        "ConstantVariable(create) SliceVariable(get_real_python_backed_value) SymNodeVariable"
    ),
    "_dynamo.variables.base": "NO_SUCH_SUBOBJ",
    "_dynamo.variables.builder": "VariableBuilder(_type_dispatch) wrap_fx_proxy",
    "_dynamo.variables.constant": "ConstantVariable",
    "_dynamo.variables.functions": "NestedUserFunctionVariable UserFunctionVariable",
    "_dynamo.variables.higher_order_ops": (
        "make_attr speculate_subgraph TorchHigherOrderOperatorVariable(make) unimplemented"
    ),
    "_dynamo.variables.tensor": "TensorVariable",
    "_export": "aot_load",
    "_export.error": "InternalError",
    "_export.utils": "_disable_aten_to_metadata_assertions _is_cia_op",
    "_functorch._aot_autograd.autograd_cache": "AOTAutogradCache autograd_cache_key",
    "_functorch._aot_autograd.functional_utils": "from_fun to_fun",
    "_functorch.config": "patch save_config_portable",
    "_functorch.vmap": (
        "_add_batch_dim _broadcast_to_and_flatten _get_name _maybe_remove_batch_dim Tensor tree_flatten "
        "tree_unflatten"
    ),
    "_guards": "tracing TracingContext(try_get)",
    "_higher_order_ops": "auto_functionalized",
    "_higher_order_ops.auto_functionalize": "auto_functionalized auto_functionalized_v2",
    "_higher_order_ops.cond": "cond_op",
    "_higher_order_ops.inline_asm_elementwise": "inline_asm_elementwise",
    "_higher_order_ops.out_dtype": "out_dtype",
    "_higher_order_ops.triton_kernel_wrap": "TritonKernelWrapperFunctional",
    "_inductor": "CompiledArtifact(load) list_mode_options standalone_compile",
    "_inductor.codecache": (
        "BypassFxGraphCache CacheBase(get_system) compiled_fx_graph_hash "
        "extract_tensor_metadata_for_cache_key FxGraphCache(_lookup_graph) FxGraphCachePickler torch_key "
        "write_atomic"
    ),
    "_inductor.codegen.cpp": "cexpr_index CppCSEVariable CppScheduling CppVecKernel",
    "_inductor.codegen.triton": "TritonOverrides",
    "_inductor.codegen.wrapper": (
        "EnterSubgraphLine ExitSubgraphLine MemoryPlanningLine MemoryPlanningState PythonWrapperCodegen "
        "SubgraphPythonWrapperCodegen"
    ),
    "_inductor.compile_fx": "compile_fx compile_fx_inner graph_returns_tuple",
    "_inductor.constant_folding": "constant_fold",
    "_inductor.cpp_builder": "get_cpp_compiler",
    "_inductor.cpu_vec_isa": "pick_vec_isa",
    "_inductor.cudagraph_trees": "cudagraphify",
    "_inductor.custom_graph_pass": "CustomGraphPass CustomInferenceAwareGraphPass get_hash_for_files",
    "_inductor.decomposition": "@register_decomposition select_decomp_table",
    "_inductor.dependencies": "ReadWrites(merge_list)",
    "_inductor.exc": "InductorError",
    "_inductor.freezing_utils": "maybe_set_is_frozen_param",
    "_inductor.fx_passes.freezing_patterns": "freezing_passes @register_freezing_graph_pattern",
    "_inductor.fx_passes.joint_graph": "joint_graph_passes lazy_init",
    "_inductor.fx_passes.mkldnn_fusion": (
        "_gelu_fusion_1 _gelu_fusion_2 _get_remaining_users _hardswish_fusion _hardtanh_fusion _silu_fusion"
    ),
    "_inductor.fx_passes.post_grad": "view_to_reshape",
    "_inductor.graph": "GraphLowering",
    "_inductor.ir": (
        "Buffer ChoiceCaller Conditional CppTemplateBuffer DeviceCopy ExternKernel(require_stride_order) "
        "FallbackKernel FixedLayout get_fill_order get_stride_order GraphPartitionSignature IRNode Layout "
        "MutationOutput NoneAsConstantBuffer NoneLayout Pointwise(create) ShapeAsConstantBuffer "
        "TensorBox(create)"
    ),
    "_inductor.kernel.flex.common": "construct_strides maybe_realize",
    "_inductor.inductor_prims": "",
    "_inductor.lowering": (
        "addcmul ELEMENTWISE_TYPE_PROMOTION_KIND=DEFAULT,NO_OPMATH,INT_TO_FLOAT,ALWAYS_BOOL,"
        "COMPLEX_TO_FLOAT,BOOL_TO_LONG expand fallback_node_due_to_unsupported_type lowerings "
        "@make_fallback @register_lowering to_dtype"
    ),
    "_inductor.output_code": "CompiledFxGraphConstantsWithGm",
    "_inductor.pattern_matcher": (
        "Arg CallFunction CallFunctionVarArgs filter_nodes fwd_only fx_to_pattern KeywordArg Match "
        "PatternMatcherPass PatternPrettyPrinter @register_graph_pattern @register_lowering_pattern "
        "register_replacement stable_topological_sort"
    ),
    "_inductor.runtime.cache_dir_utils": "cache_dir default_cache_dir",
    "_inductor.runtime.compile_tasks": "",
    "_inductor.runtime.hints": "DeviceProperties(create)",
    "_inductor.runtime.triton_helpers": "libdevice",
    "_inductor.runtime.triton_heuristics": "CachingAutotuner",
    "_inductor.scheduler": "BaseSchedulerNode FusedSchedulerNode Scheduler",
    "_inductor.select_algorithm": "autotune_select_algorithm DataProcessorTemplateWrapper ExternKernelChoice",
    "_inductor.sizevars": "SizeVarAllocator",
    "_inductor.utils": (
        "_unstable_customized_partition_wrapper CUDAGraphWrapperMetadata InputType is_cudagraph_unsafe_op "
        "parallel_num_threads set_customized_partition_wrappers"
    ),
    "_inductor.virtualized": "ops V",
    "_library": "@register_fake_class",
    "_library.fake_class_registry": "deregister_fake_class FakeScriptObject",
    "_library.opaque_object": "@register_opaque_type",
    "_library.utils": "is_builtin",
    "_logging": "set_logs ?trace_structured",
    "_logging._internal": "?trace_structured",
    "_opaque_base": "OpaqueBase",
    "_ops": "HigherOrderOperator OperatorBase",
    "_prims_common": (
        "alert_not_deterministic canonicalize_dims compute_required_storage_length get_computation_dtype "
        "infer_size IntLike is_contiguous_or_false is_integer_dtype make_contiguous_strides_for "
        "suggest_memory_format"
    ),
    "_prims_common.wrappers": "_maybe_convert_to_dtype",
    "_refs": "tensor",
    "_subclasses.fake_tensor": "_is_tensor_constructor",
    "_subclasses.functional_tensor": (
        "disable_functional_mode FunctionalTensor FunctionalTensorMode mb_unwrap_functional_tensor"
    ),
    "_utils_internal": "?justknobs_check resolve_library_path",
    "_weights_only_unpickler": "_get_user_allowed_globals",
    "autograd": "_disable_profiler",
    "autograd.profiler_legacy": "profile()",
    "backends.cuda": (
        "?can_use_cudnn_attention ?can_use_efficient_attention ?can_use_flash_attention "
        "preferred_blas_library preferred_linalg_library"
    ),
    "backends.kleidiai": "?is_available",
    "backends.mkldnn": "flags verbose()",
    "backends.nnpack": "set_flags",
    "backends.xnnpack": "",
    "classes": "load_library",
    "compiler": "load_cache_artifacts load_compiled_function save_cache_artifacts @skip_all_guards_unsafe",
    "compiler._cache": (
        "_deserialize_single_cache _serialize_single_cache "
        "CacheArtifactManager(_ensure_cache_artifacts_registered)"
    ),
    "compiler.config": "",
    "cuda": "_device_count_amdsmi _device_count_nvml ?_is_compiled _lazy_call",
    "cuda.comm": "broadcast broadcast_coalesced gather reduce_add reduce_add_coalesced scatter",
    "cuda._memory_viz": "memory segment_plot segments trace_plot",
    "export": "default_decompositions Dim(AUTO) export ExportedProgram load @register_dataclass save",
    "export._trace": "",
    "export.decomp_utils": "CustomDecompTable",
    "export.dynamic_shapes": "Dim(AUTO,DYNAMIC,STATIC) dims ShapesCollection",
    "export.exported_program": "ExportedProgram ModuleCallEntry ModuleCallSignature",
    "export.graph_signature": (
        "ConstantArgument ExportGraphSignature InputKind InputSpec OutputKind OutputSpec TensorArgument"
    ),
    "export.unflatten": "_assign_attr _AttrKind",
    "functorch.compile": (
        "aot_function aot_module make_boxed_func memory_efficient_fusion min_cut_rematerialization_partition"
    ),
    "functorch.experimental.control_flow": "cond map",
    "fx._graph_pickler": "GraphPickler(dumps,loads,reducer_override) Options",
    "fx._symbolic_trace": "ScriptObject",
    "fx.experimental.meta_tracer": "MetaAttribute MetaProxy MetaTracer symbolic_trace",
    "fx.experimental.proxy_tensor": (
        "_ProxyTensor _SymNodeDict fetch_object_proxy fetch_sym_proxy get_proxy_slot handle_sym_dispatch "
        "maybe_disable_thunkify maybe_enable_thunkify py_sym_types selective_decompose"
    ),
    "fx.experimental.rewriter": "RewritingTracer",
    "fx.experimental.symbolic_shapes": (
        "free_symbols free_unbacked_symbols guard_or_false guard_or_true guard_size_oblivious "
        "GuardOnDataDependentSymNode has_free_symbols is_symbolic ShapeEnv statically_known_true SymNode"
    ),
    "fx.experimental.unification": "unify reify Var",
    "fx.passes.fake_tensor_prop": "FakeTensorProp",
    "fx.passes.reinplace": "reinplace",
    "fx.passes.split_utils": "getattr_recursive split_by_tags",
    "fx.passes.utils.matcher_with_name_node_map_utils": "SubgraphMatcherWithNameNodeMap",
    "fx.passes.utils.source_matcher_utils": "check_subgraphs_connected get_source_partitions SourcePartition",
    "fx.traceback": "NodeSource NodeSourceAction=CREATE,REPLACE",
    "jit": "_get_trace_graph _unwrap_optional Future optimized_execution",
    "jit._builtins": "_find_builtin _register_builtin",
    "jit._recursive": "ConcreteTypeStore",
    "jit._state": "_enabled",
    "mps": (
        "current_allocated_memory ?device_count driver_allocated_memory empty_cache get_rng_state "
        "?is_available manual_seed recommended_max_memory set_per_process_memory_fraction set_rng_state "
        "synchronize"
    ),
    "mps.event": "Event",
    "mps.profiler": "metal_capture",
    "mtia": "?is_available set_device Stream",
    "multiprocessing": "_get_thread_name _set_thread_name",
    "multiprocessing.reductions": "rebuild_cuda_tensor StorageWeakRef",
    "nested._internal.ops": "extract_kwargs",
    "nn": "factory_kwargs",
    "nn.attention": (
        "_get_flash_version activate_flash_attention_impl current_flash_attention_impl list_flash_attention_impls "
        "restore_flash_attention_impl"
    ),
    "nn.attention._fa3": "",
    "nn.attention._fa4": "",
    "nn.attention._registry": "",
    "nn.attention.experimental._scaled_dot_product_attention_quantized": (
        "_scaled_dot_product_attention_quantized"
    ),
    "nn.attention.varlen": "_should_use_cudnn varlen_attn",
    "nn.functional": (
        "_check_key_padding_mask _verify_batch_size ScalingType=TensorWise,RowWise,BlockWise1x16,"
        "BlockWise1x32,BlockWise1x128,BlockWise128x128 scaled_grouped_mm SwizzleType=NO_SWIZZLE,SWIZZLE_32_4_4"
    ),
    "nn.modules.lazy": "_LazyProtocol",
    "nn.parallel": "parallel_apply replicate",
    "nn.parallel._functions": "",
    "nn.parallel.comm": "broadcast broadcast_coalesced gather reduce_add reduce_add_coalesced scatter",
    "nn.parallel.parallel_apply": "get_a_var parallel_apply",
    "nn.parallel.replicate": "replicate",
    "nn.utils._named_member_accessor": "swap_tensor",
    "nn.utils._per_sample_grad": "call_for_per_sample_grads",
    "numa.binding": "AffinityMode=NODE,SOCKET,EXCLUSIVE,CORE_COMPLEX NumaOptions",
    "onnx": (
        "export ?is_in_onnx_export ONNXProgram OperatorExportTypes=ONNX,ONNX_ATEN,ONNX_ATEN_FALLBACK,"
        "ONNX_FALLTHROUGH @register_custom_op_symbolic TensorProtoDataType=UNDEFINED,FLOAT,UINT8,INT8,"
        "UINT16,INT16,INT32,INT64,STRING,BOOL,FLOAT16,DOUBLE,UINT32,UINT64,COMPLEX64,COMPLEX128,BFLOAT16,"
        "FLOAT8E4M3FN,FLOAT8E4M3FNUZ,FLOAT8E5M2,FLOAT8E5M2FNUZ TrainingMode=EVAL,PRESERVE,TRAINING "
        "@unregister_custom_op_symbolic"
    ),
    "onnx._internal.torchscript_exporter._globals": "GLOBALS",
    "onnx.operators": "shape_as_tensor",
    "onnx.ops": "symbolic symbolic_multi_out",
    "onnx.symbolic_helper": "_maybe_get_const cast_pytorch_to_onnx @parse_args",
    "onnx.symbolic_opset11": "select squeeze unsqueeze",
    "onnx.symbolic_opset12": "dropout",
    "onnx.symbolic_opset9": "gelu masked_fill softmax sub",
    "ops._c10d_functional": _FUNCTIONAL_COLLECTIVES
    + " _wrap_tensor_autograd all_gather_into_tensor_out all_reduce_ "
    "all_reduce_coalesced_ broadcast_ reduce_scatter_tensor_out",
    "ops._c10d_functional_autograd": "all_gather_into_tensor all_to_all_single reduce_scatter_tensor",
    "ops.aten": (
        "_assert_async _assert_scalar _assert_tensor_metadata _convert_weight_to_int4pack "
        "_convert_weight_to_int4pack_for_cpu _convolution _dyn_quant_matmul_4bit "
        "_dyn_quant_pack_4bit_weight _efficient_attention_backward _efficient_attention_forward "
        "_efficientzerotensor _embedding_bag_forward_only _flash_attention_backward "
        "_flash_attention_forward _grouped_mm _int_mm _is_all_true _local_scalar_dense _mkldnn_transpose "
        "_native_batch_norm_legit_no_training _nnz _pin_memory _scaled_dot_product_cudnn_attention "
        "_scaled_dot_product_cudnn_attention_backward _scaled_dot_product_efficient_attention "
        "_scaled_dot_product_flash_attention _scaled_dot_product_flash_attention_backward _scaled_mm "
        "_scaled_mm_v2 _sparse_mm_reduce_impl _unsafe_view _weight_int4pack_mm "
        "_weight_int4pack_mm_for_cpu _weight_int4pack_mm_with_scales_and_zeros alias col_indices "
        "convolution_backward copy crow_indices cudnn_batch_norm index is_non_overlapping_and_dense "
        "lift_fresh lift_fresh_copy miopen_batch_norm native_batch_norm_backward native_layer_norm_backward "
        "numpy_T slice sym_constrain_range_for_size sym_numel sym_size sym_storage_offset "
        "sym_stride"
    ),
    "ops._dtensor": "shard_dim_alltoall",
    "ops.c10d": (
        "_allgather_base_ _reduce_scatter_base_ allgather_ allgather_coalesced_ allgather_into_tensor_coalesced_ "
        "allreduce_ allreduce_coalesced_ alltoall_ alltoall_base_ broadcast_ gather_ reduce_ reduce_scatter_ "
        "reduce_scatter_tensor_coalesced_ scatter_"
    ),
    "ops.c10d_functional": _FUNCTIONAL_COLLECTIVES,
    "ops.higher_order": "cond map_impl scan while_loop",
    "ops.image": "decode_jpegs_cuda encode_jpegs_cuda",
    "ops.mkldnn": "?_is_mkldnn_acl_supported _linear_pointwise",
    "ops.onednn": (
        "linear_dynamic_fp16 linear_prepack_fp16 linear_relu_dynamic_fp16 qconv2d_pointwise qconv_pointwise "
        "qconv_prepack qlinear_pointwise qlinear_prepack"
    ),
    "ops.prim": "layout",
    "ops.prims": "convert_element_type",
    "ops.quantized": (
        "add conv_transpose1d conv_transpose1d_prepack conv_transpose2d conv_transpose2d_prepack "
        "conv_transpose3d conv_transpose3d_prepack linear_dynamic linear_dynamic_fp16 mul"
    ),
    "ops.quantized_decomposed": (
        "choose_qparams choose_qparams_per_token_asymmetric choose_qparams_symmetric convert_element_type "
        "dequantize_per_channel dequantize_per_channel_group dequantize_per_tensor dequantize_per_token "
        "quantize_per_channel quantize_per_channel_group quantize_per_tensor quantize_per_token"
    ),
    "ops.symm_mem": (
        "fused_all_gather_matmul fused_matmul_reduce_scatter fused_scaled_matmul_reduce_scatter "
        "multimem_all_gather_out multimem_all_reduce_ reduce_scatter_out two_shot_all_reduce_"
    ),
    "ops.torchvision": "qnms qroi_align",
    "optim.optimizer": "_device_dtype_check_for_fused",
    "package": "Importer PackageExporter PackageImporter sys_importer",
    "profiler._memory_profiler": "_CATEGORY_TO_COLORS _CATEGORY_TO_INDEX MemoryProfileTimeline",
    "serialization": (
        "_check_dill_version _get_restore_location _is_torchscript_zip _legacy_load _maybe_decode_ascii "
        "normalize_storage_type"
    ),
    "sparse": (
        "SparseSemiStructuredTensor(_DEFAULT_ALG_ID) "
        "SparseSemiStructuredTensorCUSPARSELT(_DTYPE_SHAPE_CONSTRAINTS) "
        "SparseSemiStructuredTensorCUTLASS(_load_dispatch_table) to_sparse_semi_structured"
    ),
    "sparse._triton_ops": (
        "broadcast_batch_dims launch_kernel prepare_inputs ptr_stride_extractor tile_to_blocksize"
    ),
    "sparse._triton_ops_meta": "get_meta minimize update",
    "testing": "assert_allclose",
    "testing._internal.common_utils": "make_tensor TestCase(assertEqual)",
    "testing._internal.composite_compliance": "is_inplace is_inplace_view_fn is_view_fn",
    "utils._appending_byte_serializer": "AppendingByteSerializer(to_list) BytesWriter",
    "utils._config_module": "_Config _ConfigEntry ConfigModule(patch)",
    "utils._cpp_extension_versioner": "ExtensionVersioner",
    "utils._ordered_set": "OrderedSet",
    "utils._pytree": "KeyEntry treespec_dumps treespec_loads",
    "utils._sympy.functions": "simple_floordiv_gcd",
    "utils._sympy.numbers": "IntInfinity",
    "utils._sympy.value_ranges": "ValueRanges",
    "utils._triton": "?has_triton",
    "utils.checkpoint": (
        "_detach_helper _get_autocast_kwargs _get_device_module _infer_device_type _policy_from_bool "
        "CheckpointFunction(apply)"
    ),
    "utils.collect_env": "get_env_info get_pretty_env_info SystemEnv",
    "utils.cpp_extension": (
        "_check_and_build_extension_h_precompiler_headers _find_cuda_home _get_build_directory "
        "_import_module_from_library _jit_compile _TORCH_PATH BuildExtension CppExtension CUDAExtension "
        "get_default_build_root include_paths library_paths load load_inline verify_ninja_availability"
    ),
    "utils.data._utils.signal_handling": (
        "_remove_worker_pids _set_SIGCHLD_handler _set_worker_pids _set_worker_signal_handlers"
    ),
    "utils.data._utils.worker": "_IterableDatasetStopIteration _ResumeIteration _worker_loop ManagerWatchdog",
    "utils.data.dataloader": "_sharding_worker_init_fn",
    "utils.data.datapipes.datapipe": "_IterDataPipeSerializationWrapper _MapDataPipeSerializationWrapper",
    "utils.data.datapipes.iter": (
        "Demultiplexer FileLister FileOpener Forker Grouper RoutedDecoder StreamReader"
    ),
    "utils.data.datapipes.utils.common": "StreamWrapper",
    "utils.file_baton": "FileBaton",
    "utils.hipify.hipify_python": "GeneratedFileCleaner",
    "xpu": "?_is_compiled device() graph() graph_pool_handle stream XPUGraph",
    "xpu.memory": "_dump_snapshot _record_memory_history",
    **distributed.NAMES,
    **quantization.NAMES,
}
