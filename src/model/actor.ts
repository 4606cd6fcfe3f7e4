/** A name with what it is a name of, for the log, silences and acknowledgements: names of tokens and of users may be equal. */
export function actorOf(kind: 'token' | 'user' | 'cli', name: string): string {
  return `${kind}:${name}`
}

/** Characters of an actor, its kind included. */
export const MAX_ACTOR = 200
