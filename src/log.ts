import type { Logger } from './sink/index.ts'

export type { Logger } from './sink/index.ts'

/** Says nothing; for tests and for commands that print their own output. */
export const silentLog: Logger = { debug() {}, info() {}, warn() {}, error() {} }
