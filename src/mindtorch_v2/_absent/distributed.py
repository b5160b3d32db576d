"""The names of ``torch.distributed`` and of the modules below it that are not there yet. Note [Names that refuse]."""

NAMES = {
    "_C._distributed_c10d": (
        "_register_process_group _SymmetricMemory(empty_strided_p2p,has_multicast_support,rendezvous) "
        "ErrorType=SUCCESS,TIMEOUT,COMM_ERROR,REMOTE_ERROR ProcessGroupGloo"
    ),
    "_C._distributed_rpc": "?_is_current_rpc_agent_set PyRRef",
    "distributed": "_remote_device() ProcessGroupGloo",
    "distributed._composable.contract": "@contract",
    "distributed._composable_state": "_module_state_mapping",
    "distributed._shard.metadata": "ShardMetadata",
    "distributed._shard.sharded_tensor": (
        "Shard(from_tensor_and_offsets) ShardedTensor(_init_from_local_shards,"
        "_init_from_local_shards_and_global_metadata) "
        "ShardedTensorBase(_init_from_local_shards_and_global_metadata) ShardedTensorMetadata ShardMetadata "
        "TensorProperties"
    ),
    "distributed._shard.sharded_tensor.api": "ShardedTensor(_init_from_local_shards)",
    "distributed._shard.sharding_spec": "ChunkShardingSpec EnumerableShardingSpec ShardingSpec ShardMetadata",
    "distributed._shard.sharding_spec._internals": "_check_shard_metadata_pair_overlap",
    "distributed._state_dict_utils": "_gather_state_dict",
    "distributed._symmetric_memory": (
        "empty enable_symm_mem_for_group get_backend get_signal_pad_size get_symm_mem_workspace "
        "is_symm_mem_enabled_for_group rendezvous set_backend set_signal_pad_size"
    ),
    "distributed.autograd": "backward context() DistAutogradContext get_gradients ?is_available",
    "distributed.checkpoint": ("load_sharded_optimizer_state_dict QuantizedHuggingFaceStorageReader"),
    "distributed.checkpoint._consolidate_hf_safetensors": "consolidate_safetensors_files",
    "distributed.checkpoint.filesystem": "FileSystem FileSystemBase",
    "distributed.checkpoint.optimizer": "load_sharded_optimizer_state_dict",
    "distributed.device_mesh": "_mesh_resources",
    "distributed.distributed_c10d": (
        "_get_default_timeout _get_global_rank _new_process_group_helper _pg_map "
        "_unregister_process_group _world ProcessGroupGloo"
    ),
    "distributed.fsdp._flat_param": "FlatParameter FlatParamHandle(unshard)",
    "distributed.fsdp._fully_shard._fsdp_collectives": "",
    "distributed.fsdp._fully_shard._fsdp_common": "",
    "distributed.fsdp._fully_shard._fsdp_init": "",
    "distributed.fsdp._fully_shard._fsdp_param": (
        "FSDPParam(_init_sharded_param,init_dtype_attrs,init_unsharded_param)"
    ),
    "distributed.fsdp._fully_shard._fsdp_param_group": "FSDPParamGroup(_init_mp_dtypes)",
    "distributed.fsdp._fully_shard._fsdp_state": "",
    "distributed.fsdp._fully_shard._fully_shard": "",
    "distributed.fsdp._runtime_utils": "_post_backward_final_callback _reshard",
    "distributed.fsdp._traversal_utils": "_get_fsdp_states",
    "distributed.nn": "RemoteModule",
    "distributed.nn.api.remote_module": "_RemoteModule RemoteModule",
    "distributed.optim": "DistributedOptimizer",
    "distributed.pipelining.schedules": "_PipelineScheduleRuntime",
    "distributed.remote_device": "_remote_device()",
    "distributed.rpc": (
        "AllGatherStates BackendType=TENSORPIPE get_worker_info init_rpc ?is_available method_factory "
        "new_method remote rpc_async rpc_sync RRef shutdown TensorPipeRpcBackendOptions"
    ),
    "distributed.rpc.api": (
        "_all_gather @_require_initialized AllGatherStates get_worker_info method_factory new_method "
        "remote rpc_async rpc_sync RRef shutdown UNSET_RPC_TIMEOUT"
    ),
    "distributed.rpc.backend_registry": (
        "backend_registered BackendType=TENSORPIPE BackendValue construct_rpc_backend_options "
        "init_backend register_backend"
    ),
    "distributed.rpc.constants": "UNSET_RPC_TIMEOUT",
    "distributed.rpc.functions": "@async_execution",
    "distributed.rpc.internal": (
        "deserialize PythonUDF RemoteException RPCExecMode=SYNC,ASYNC,ASYNC_JIT,REMOTE serialize"
    ),
    "distributed.rpc.options": "TensorPipeRpcBackendOptions",
    "distributed.rpc.rref_proxy": "RRefProxy",
    "distributed.rpc.server_process_global_profiler": "",
    "distributed.tensor._ops": "",
    "distributed.tensor.experimental": "context_parallel local_map register_sharding",
    "distributed.tensor.experimental._attention": "_cp_options _templated_ring_attention set_rotate_method",
    "distributed.tensor.experimental._context_parallel._attention": "",
    "distributed.tensor.experimental._context_parallel._sharding_rules": "unregister_cp_sharding_rules",
    "distributed.utils": "_apply_to_tensors _sync_module_states",
}
