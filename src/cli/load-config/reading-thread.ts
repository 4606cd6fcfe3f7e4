import { startCompileCache } from '../compile-cache.ts'

// The main thread has compiled its modules.
startCompileCache()
const { answerRequests } = await import('./worker-answers.ts')
answerRequests()
