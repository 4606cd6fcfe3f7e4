import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { vi } from 'vitest'
import type { Peer } from './peer.ts'

/** A folder that goes away; a disk that is full, and one that hangs. */
export async function startFilePeer(): Promise<Peer> {
  const root = mkdtempSync(join(tmpdir(), 'kubeherald-file-'))
  const [folder, away] = [join(root, 'logs'), join(root, 'away')]
  const path = join(folder, 'events.ndjson')
  const handles = await prototypeOfHandles()
  let isGone = false
  let disk = Promise.withResolvers<void>()

  function takeFolderAway(): void {
    if (existsSync(folder)) renameSync(folder, away)
    writeFileSync(folder, '')
    isGone = true
  }

  function bringFolderBack(): void {
    rmSync(folder)
    if (existsSync(away)) renameSync(away, folder)
    isGone = false
  }

  return {
    type: 'file',
    options: () => ({ path }),
    without: {
      'cuts mid-answer': 'what a full disk takes of a batch is in file.test.ts',
      throttles: 'a disk that is slow only takes longer',
      'wrong credentials': 'it has none; what may not be written to refuses',
    },
    begin(fault) {
      if (fault === 'unreachable') takeFolderAway()
      if (fault === 'refuses')
        vi.spyOn(handles, 'write').mockRejectedValue(
          Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' }) as never,
        )
      if (fault === 'hangs') {
        disk = Promise.withResolvers()
        const write = handles.write as (...args: unknown[]) => Promise<unknown>
        vi.spyOn(handles, 'write').mockImplementation(async function (this: FileHandle, ...args: unknown[]) {
          await disk.promise
          return write.apply(this, args) as never
        } as never)
      }
    },
    mend() {
      vi.restoreAllMocks()
      disk.resolve()
      if (isGone) bringFolderBack()
    },
    async took() {
      if (!existsSync(path)) return []
      const lines = readFileSync(path, 'utf8').split('\n')
      return lines
        .filter((line) => line !== '')
        .map((line) => {
          const { name, resourceversion } = JSON.parse(line) as Record<string, string>
          return `${name}@${resourceversion}`
        })
    },
    async [Symbol.asyncDispose]() {
      rmSync(root, { recursive: true, force: true })
    },
  }
}

async function prototypeOfHandles(): Promise<FileHandle> {
  const handle = await open('/dev/null')
  await handle.close()
  return Object.getPrototypeOf(handle) as FileHandle
}
