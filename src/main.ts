import { flushCompileCache } from 'node:module'
import { startCompileCache } from './cli/compile-cache.ts'

startCompileCache()
// Node's own pools are 64 KiB since Node 24: one small buffer that lives longer keeps all others of its pool in memory.
Buffer.poolSize = 8 * 1024
// Also for a process that is killed one day: by then all that a start needs is compiled.
setTimeout(flushCompileCache, 5_000).unref()
const { runCommandLine } = await import('./cli/command-line.ts')

/** For what ends by itself; what a failed start left open must not keep the process alive. */
const LINGER_MS = 1_000

let fault: NodeJS.ErrnoException | undefined
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // The reader of our output is gone, as `head` goes: it wants no more.
  if (error.code !== 'EPIPE') fault ??= error
})
process.stderr.on('error', () => {})
process.exitCode = await runCommandLine(process.argv.slice(2))
process.stdout.write('', () =>
  // Errors of writes are reported a turn later.
  setImmediate(() => {
    if (fault !== undefined) {
      process.stderr.write(`kubeherald: cannot write the output: ${fault.message}\n`)
      process.exitCode ||= 1
    }
    setTimeout(() => process.exit(), LINGER_MS).unref()
  }),
)
