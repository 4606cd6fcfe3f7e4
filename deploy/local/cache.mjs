// What the set-up makes once and keeps: the user's cache folder, filled by one process at a time.
import { mkdirSync, rmSync, statSync, utimes } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

const HEARTBEAT_MS = 30_000
const STALE_MS = 4 * HEARTBEAT_MS

export function cacheFolder(name) {
  return join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'kubeherald', name)
}

/** Fills a folder. Two set-ups at once do it once; `doing`, such as `builds etcd`, is what the one that waits says of the other. */
export async function fillFolder(dir, { say, doing }, fill) {
  mkdirSync(dir, { recursive: true })
  const lock = join(dir, '.lock')
  await takeLock(lock, () => say(`another set-up ${doing}; waiting for it …`))
  // Whoever is killed leaves the lock behind; its age shows that nobody holds it.
  const heartbeat = setInterval(() => utimes(lock, new Date(), new Date(), () => {}), HEARTBEAT_MS)
  try {
    await fill()
  } finally {
    clearInterval(heartbeat)
    rmSync(lock, { recursive: true, force: true })
  }
}

/** Says again and again that work goes on; `doing` as in `building etcd`. */
export async function telling(say, doing, work) {
  const startedMs = Date.now()
  const heartbeat = setInterval(
    () => say(`… still ${doing}, ${Math.round((Date.now() - startedMs) / 1_000)} s`),
    HEARTBEAT_MS,
  )
  try {
    return await work()
  } finally {
    clearInterval(heartbeat)
  }
}

async function takeLock(lock, onWait) {
  for (let waited = false; ; ) {
    try {
      mkdirSync(lock)
      return
    } catch (error) {
      if (error.code !== 'EEXIST') throw error
      if (Date.now() - statSync(lock, { throwIfNoEntry: false })?.mtimeMs > STALE_MS)
        rmSync(lock, { recursive: true, force: true })
      else if (!waited) onWait()
      waited = true
      await new Promise((resolve) => setTimeout(resolve, 1_000))
    }
  }
}
