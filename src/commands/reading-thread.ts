import { workerData } from 'node:worker_threads'
import { startCompileCache } from '../compile-cache.ts'

// What it needs was compiled by whoever starts it.
startCompileCache()
const { readAndTell } = await import('./read-and-tell.ts')
await readAndTell(workerData)
