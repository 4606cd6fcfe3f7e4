/**
 * What Node and glibc are told wherever kubeherald runs. Small young generation: buffers that wait for a collection cost more memory
 * than collections cost time. For the same reason the old one is collected when it has doubled.
 */
export const NODE_FLAGS = ['--max-semi-space-size=4', '--heap-growing-percent=100']

/**
 * One arena for all threads, and thresholds that stay: with an arena for each thread and thresholds that grow, glibc never gives
 * back the memory of a burst.
 */
export const MALLOC = {
  MALLOC_ARENA_MAX: '1',
  MALLOC_MMAP_THRESHOLD_: '1048576',
  MALLOC_TRIM_THRESHOLD_: '2097152',
}
