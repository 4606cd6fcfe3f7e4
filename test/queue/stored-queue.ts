import type { HistoryEntry } from '../cluster/etcd-history.ts'

export const NAMES: readonly string[] = Array.from({ length: 24 }, (_, i) => `object-${i}`)
const TWICE = NAMES.slice(0, 20)
const THRICE = NAMES.slice(0, 10)

/** The commits that wait in `fixtures/stored-queue`: most objects are deleted and created again, some twice. */
export const STORED: readonly { type: HistoryEntry['type']; names: readonly string[] }[] = [
  { type: 'ADDED', names: NAMES },
  { type: 'MODIFIED', names: NAMES },
  { type: 'DELETED', names: TWICE },
  { type: 'ADDED', names: TWICE },
  { type: 'MODIFIED', names: NAMES },
  { type: 'DELETED', names: THRICE },
  { type: 'ADDED', names: THRICE },
]
