/** Where a message of a batch goes. */
export interface Place {
  /** Its place in the batch. */
  readonly index: number
  readonly uid: string
  readonly topic: string
  readonly key: string
  readonly partition: number
}

/**
 * Parts a batch into rounds, to be sent one after the other. Nearly always it is one: partitions keep their own order. An
 * object whose key changed is in two partitions, and the later record has to wait for the earlier one.
 */
export function roundsOf<P extends Place>(places: readonly P[]): P[][] {
  const rounds: P[][] = []
  const ofObject = new Map<string, { round: number; where: string }>()
  const ofKey = new Map<string, number>()
  for (const place of places) {
    const where = `${place.topic}/${place.partition}`
    const key = `${place.topic}/${place.key}`
    const before = ofObject.get(place.uid)
    const after = before ? (before.where === where ? before.round : before.round + 1) : 0
    const round = Math.max(after, ofKey.get(key) ?? 0)
    ofObject.set(place.uid, { round, where })
    ofKey.set(key, round)
    rounds[round] ??= []
    rounds[round].push(place)
  }
  return rounds
}
