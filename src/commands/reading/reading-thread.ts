import { startCompileCache } from '../../compile-cache.ts'

// What it needs was compiled by whoever starts it.
startCompileCache()
const { answerRequests } = await import('./read-and-tell.ts')
answerRequests()
