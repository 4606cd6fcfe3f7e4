import { enableCompileCache } from 'node:module'

// Halves the start; without a writable temporary directory it does nothing.
enableCompileCache()
const { runCommandLine } = await import('./commands/command-line.ts')

process.exitCode = await runCommandLine(process.argv.slice(2))
