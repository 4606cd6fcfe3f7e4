import { userInfo } from 'node:os'
import { actorOf, MAX_ACTOR } from '../../model/control.ts'
import { UsageError } from '../usage-error.ts'

/** Who acts on the command line, such as `cli:alice`: whom `--by` names, or the user who types. Throws a UsageError. */
export function cliActor(by = currentUser()): string {
  const actor = actorOf('cli', by)
  if (by.trim() === '' || actor.length > MAX_ACTOR)
    throw new UsageError(`--by takes 1 to ${MAX_ACTOR - actorOf('cli', '').length} characters`)
  return actor
}

/** Containers may have none. */
function currentUser(): string {
  try {
    return userInfo().username
  } catch {
    return process.env['USER'] || 'unknown'
  }
}
