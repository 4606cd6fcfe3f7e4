// The contract of /api/v1: queries and bodies are checked by these schemas, docs/openapi.json is made of them, and the page imports their types.
export * from './contract/actions.ts'
export * from './contract/basics.ts'
export * from './contract/history.ts'
export * from './contract/objects.ts'
export * from './contract/status.ts'
