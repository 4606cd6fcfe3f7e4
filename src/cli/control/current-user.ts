import { userInfo } from 'node:os'

/** The user who types; containers may have none. */
export function currentUser(): string {
  try {
    return userInfo().username
  } catch {
    return process.env['USER'] || 'unknown'
  }
}
