import { ApiFault } from '../api-fault.ts'

/** It takes a person: rights, or a namespace that is not there. */
export function isRefusal(error: unknown): boolean {
  if (!(error instanceof ApiFault)) return false
  const { code } = error.status
  return code >= 400 && code < 500 && ![401, 408, 409, 429].includes(code)
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
