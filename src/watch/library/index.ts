import type { Changes, KubernetesObject, WatchOptions } from './types.ts'
import { startWatch } from './watch.ts'

export { fileCheckpoint } from './file-checkpoint.ts'
export {
  type Change,
  type Changes,
  type CheckpointStore,
  type Kind,
  type KindOptions,
  type KubernetesObject,
  type Warning,
  WatchError,
  type WatchErrorCode,
  type WatchOptions,
} from './types.ts'

/**
 * Watches any number of kinds of a cluster. Returns their changes, to be iterated; see `Changes` for order and delivery. Lost connections,
 * restarts of the API server and 410 Gone are survived: what was missed arrives, after a 410 as the net difference. `T` is the type of
 * `object`, such as a type of @kubernetes/client-node; it is not checked. Throws WatchError for wrong options, and if there is no usable
 * kubeconfig.
 *
 * A slow program holds back the API server: for each watch (a kind, or a kind in one namespace) at most 8 MiB of JSON and one object
 * are in memory, while pages of a list are read 32 MiB and one object.
 */
export function watch<T = KubernetesObject>(options: WatchOptions): Changes<T> {
  return startWatch<T>(options)
}
