import type { Outcome, Reason } from '../../src/sink/index.ts'

export type Retry = Extract<Outcome, { kind: 'retry' }>

const WORDS: Readonly<Record<string, readonly [reason: Reason, words: string]>> = {
  ENOSPC: ['server-error', 'the disk is full: make room, or lower maxSize and maxFiles'],
  EDQUOT: ['server-error', 'the quota of the disk is used up'],
  EFBIG: ['server-error', 'the file may not grow any more: lower maxSize'],
  EIO: ['server-error', 'the disk reports an error'],
  EMFILE: ['server-error', 'too many files are open'],
  ENFILE: ['server-error', 'too many files are open on this machine'],
  ESTALE: ['network', 'the network file system has lost the file'],
  EACCES: ['auth', 'permission denied: let the user that kubeherald runs as write there'],
  EPERM: ['auth', 'it is not permitted: let the user that kubeherald runs as write there'],
  EROFS: ['config', 'the file system is read-only: mount a volume there that can be written to'],
  ENOTDIR: ['config', 'a part of the path is a file, not a folder'],
  EEXIST: ['config', 'a part of the path is a file, not a folder'],
  EISDIR: ['config', 'it is a folder: name a file in it'],
  ENOENT: ['config', 'its folder is not there and cannot be made'],
  ELOOP: ['config', 'the path goes round in circles: its links lead to each other'],
  ENAMETOOLONG: ['config', 'the path is too long'],
  ENOTFILE: ['config', 'it is no regular file'],
}

/** Why a file cannot be written, in words; the whole sink waits until it can. */
export function faultOf(error: unknown, path: string): Retry {
  const { code = '', message } = error as NodeJS.ErrnoException
  const [reason, words] = (Object.hasOwn(WORDS, code) ? WORDS[code] : undefined) ?? [
    'unknown',
    code || message,
  ]
  const detail = `cannot write ${path}: ${words}${words === code ? '' : ` (${code})`}`
  return { kind: 'retry', reason, detail: detail.slice(0, 1_000), scope: 'sink' }
}

export function notFile(): Error {
  return Object.assign(new Error('no regular file'), { code: 'ENOTFILE' })
}

/** For what may well not be there. */
export function goneOrThrow(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
