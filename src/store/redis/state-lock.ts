import { spawnSync } from 'node:child_process'
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'

/** The process that owns a state directory. */
interface Holder {
  host: string
  pid: number
  /** When it started, as the system counts it: a later process with the same pid is another one. '' is unknown. */
  started: string
  /** One that ends soon, unlike `run`. */
  isCommand: boolean
}

/** The second line of a lock. */
const COMMAND = 'command'

/**
 * Writes this process into `file`, as its owner. Returns a function that releases it, or the current owner. Takes over the lock of a
 * killed process; for a process on another host, such as a container, `isLive` returns whether it still runs.
 */
export async function lockState(
  file: string,
  isLive: () => Promise<boolean>,
  isCommand = false,
): Promise<{ release(): void } | { heldBy: Holder }> {
  const own = `${hostname()} ${process.pid} ${startOf(process.pid)}${isCommand ? `\n${COMMAND}` : ''}`
  for (;;) {
    if (create(file, own)) return { release: () => release(file, own) }
    const text = read(file)
    if (text === undefined) continue
    const holder = parseHolder(text)
    if (holder.host === hostname() ? isRunning(holder) : await isLive()) return { heldBy: holder }
    discard(file, text)
  }
}

/** A link appears with its content or not at all, and only if there is none. */
function create(file: string, text: string): boolean {
  const draft = `${file}.${process.pid}.new`
  writeFileSync(draft, text)
  try {
    linkSync(draft, file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

/** Moves a stale lock away. Should another process have replaced it just now, its lock is put back. */
function discard(file: string, stale: string): void {
  const aside = `${file}.${process.pid}.old`
  try {
    renameSync(file, aside)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  if (read(aside) !== stale) linkSync(aside, file)
  rmSync(aside, { force: true })
}

function release(file: string, own: string): void {
  if (read(file) === own) rmSync(file, { force: true })
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function parseHolder(text: string): Holder {
  const [line = '', kind] = text.split('\n')
  const [host = '', pid, ...started] = line.split(' ')
  return { host, pid: Number(pid), started: started.join(' '), isCommand: kind === COMMAND }
}

function isRunning({ pid, started }: Holder): boolean {
  if (!Number.isInteger(pid) || pid <= 0 || !isAlive(pid)) return false
  const now = startOf(pid)
  return now === started || now === '' || started === ''
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Clock ticks since boot on Linux (field 22 of proc_pid_stat(5)), a date elsewhere; '' if unknown. */
export function startOf(pid: number): string {
  if (process.platform !== 'linux')
    return spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).stdout?.trim() ?? ''
  const stat = read(`/proc/${pid}/stat`) ?? ''
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
}
