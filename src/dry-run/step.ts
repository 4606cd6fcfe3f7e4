import type { ClusterEvent } from '../event.ts'
import type { Fate, Later } from './dry-run.ts'
import type { Watched } from './watched.ts'

/** Something that came to pass in a test: an event, or what a timer brought about. `fate` is undefined when nobody watches it. */
export type Step =
  | { kind: 'event'; event: ClusterEvent; watched: Watched; fate: Fate | undefined }
  | { kind: 'later'; later: Later }
