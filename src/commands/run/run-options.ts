import type { Role } from '../../app.ts'
import type { PluginOptions } from '../reading/configuration.ts'

/** What the command line says of a run. */
export interface RunOptions extends PluginOptions {
  config?: string
  context?: string
  role: Role
  stateDir?: string
  logLevel?: string
  /** Watch the demo cluster, even if there is a real one. */
  demo?: boolean
  /** With `demo`: in the Redis of the configuration, under a name of its own. */
  sharedRedis?: boolean
}
