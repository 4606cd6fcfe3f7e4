import { accessSync, constants, mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileFault } from '../reading/file-fault.ts'
import { UsageError } from '../usage-error.ts'

/** Makes the directory and what is missing above it, for this user alone. */
export function makeStateDirectory(dir: string): void {
  try {
    make(dir)
    accessSync(dir, constants.W_OK | constants.X_OK)
  } catch (error) {
    const why = error instanceof NotADirectory ? error.message : fileFault(error)
    throw new UsageError(`cannot use the state directory ${dir}: ${why}; choose another with --state-dir`)
  }
}

/** A fault of the file system below `dir` with its directory and a way out; any other error as it is. */
export function stateDirectoryFault(dir: string, error: unknown): unknown {
  const { code, syscall } = error as NodeJS.ErrnoException
  const isOfFiles = code !== undefined && FULL_OR_READ_ONLY.has(code) && !syscall?.startsWith('spawn')
  if (!isOfFiles) return error
  return new UsageError(
    `cannot write in the state directory ${dir}: ${fileFault(error)}; choose another with --state-dir`,
  )
}

const FULL_OR_READ_ONLY = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EPERM'])

class NotADirectory extends Error {}

/** One at a time: `recursive` goes round for ever where the system has no directories to make, such as in /proc. */
function make(dir: string): void {
  const found = statSync(dir, { throwIfNoEntry: false })
  if (found?.isDirectory()) return
  if (found) throw new NotADirectory(`${dir} is a file`)
  make(dirname(dir))
  try {
    mkdirSync(dir, { mode: 0o700 })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && statSync(dir).isDirectory()) return
    if (code === 'ENOENT') throw new NotADirectory(`no directory can be made in ${dirname(dir)}`)
    throw error
  }
}
