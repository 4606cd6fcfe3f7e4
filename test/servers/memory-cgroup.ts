import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const V1 = '/sys/fs/cgroup/memory'
const V2 = '/sys/fs/cgroup'

let created = 0

/** A control group with a limit of memory, for processes that must stay within that of their pod. */
export interface MemoryCgroup extends Disposable {
  /** To be put in front of a command: runs it in the group. */
  readonly launcher: readonly string[]
  /** The largest use so far, in bytes; undefined where the kernel does not count it. */
  peakBytes(): number | undefined
}

/** Why no control group can be made here; undefined where one can. */
export function missingForMemoryCgroup(): string | undefined {
  if (process.platform !== 'linux') return 'Linux'
  if (process.getuid?.() !== 0) return 'root, who may make control groups,'
  try {
    createMemoryCgroup(64 * 2 ** 20)[Symbol.dispose]()
    return undefined
  } catch {
    return 'right to make control groups of memory'
  }
}

/** Creates a group without swap. Throws where this user may not, or where the memory controller is missing. */
export function createMemoryCgroup(limitBytes: number): MemoryCgroup {
  const isV1 = existsSync(join(V1, 'memory.limit_in_bytes'))
  const dir = join(isV1 ? V1 : V2, `kubeherald-test-${process.pid}-${created++}`)
  mkdirSync(dir)
  try {
    writeFileSync(join(dir, isV1 ? 'memory.limit_in_bytes' : 'memory.max'), String(limitBytes))
    const swap = join(dir, isV1 ? 'memory.memsw.limit_in_bytes' : 'memory.swap.max')
    if (existsSync(swap)) writeFileSync(swap, isV1 ? String(limitBytes) : '0')
  } catch (error) {
    rmdirSync(dir)
    throw error
  }
  const peak = join(dir, isV1 ? 'memory.max_usage_in_bytes' : 'memory.peak')
  return {
    launcher: ['sh', '-c', `echo $$ > ${join(dir, 'cgroup.procs')} && exec "$@"`, 'sh'],
    peakBytes: () => (existsSync(peak) ? Number(readFileSync(peak, 'utf8')) : undefined),
    // Fails while a process is in it: whoever started one ends it first.
    [Symbol.dispose]: () => rmdirSync(dir),
  }
}
