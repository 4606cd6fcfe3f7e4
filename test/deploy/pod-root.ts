import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** What an image gives: files of its own in the root folder, and what runs when a pod does not say. */
export interface Image {
  /** Folders and files of this machine by their place in the image. */
  files: Record<string, string>
  entrypoint: readonly string[]
}

/** Of the machine: what dynamic linking, a shell and tools need. Read-only, as the rest of the root folder. */
const SYSTEM = ['usr', 'bin', 'lib', 'lib64', 'sbin']

/** Writes the script that mounts a root folder of the image and the volumes, all read-only but what is not, and enters it. */
export function prepareRoot(
  dir: string,
  image: Image,
  mounts: readonly { name: string; mountPath: string; readOnly?: boolean }[],
  volumeDir: (name: string) => string,
): string {
  const root = join(dir, 'root')
  const lines = ['set -e', `mount --bind '${root}' '${root}'`]
  const bind = (from: string, to: string, { readOnly = true, folder = true } = {}) => {
    const at = join(root, to)
    if (folder) mkdirSync(at, { recursive: true })
    else {
      mkdirSync(join(at, '..'), { recursive: true })
      writeFileSync(at, '')
    }
    lines.push(`mount --bind '${from}' '${at}'`)
    if (readOnly) lines.push(`mount -o remount,bind,ro '${at}'`)
  }
  for (const folder of ['dev', 'proc']) {
    mkdirSync(join(root, folder), { recursive: true })
    lines.push(`mount --rbind /${folder} '${join(root, folder)}'`)
  }
  mkdirSync(join(root, 'run'))
  mkdirSync(join(root, 'var'))
  symlinkSync('../run', join(root, 'var/run'))
  mkdirSync(join(root, 'etc'))
  writeFileSync(join(root, 'etc/hosts'), '127.0.0.1 localhost\n')
  for (const folder of SYSTEM) bind(`/${folder}`, folder)
  for (const [to, from] of Object.entries(image.files)) bind(from, to, { folder: to.endsWith('/') })
  for (const { name, mountPath, readOnly = false } of mounts)
    bind(volumeDir(name), mountPath.replace('/var/run/', '/run/'), { readOnly })
  lines.push(`mount -o remount,bind,ro '${root}'`, `cd '${root}'`, 'exec chroot . "$@"')
  const script = join(dir, 'enter.sh')
  writeFileSync(script, lines.join('\n'))
  return script
}

/** Folders of this machine are mounted in the pod's namespace alone; if they ever were here too, nothing may be removed. */
export function removeRoot(dir: string): void {
  if (readFileSync('/proc/self/mountinfo', 'utf8').includes(dir))
    throw new Error(`something is mounted in ${dir}`)
  rmSync(dir, { recursive: true, force: true })
}
