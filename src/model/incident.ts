/** Who took over an incident. */
export interface Acknowledgement {
  by: string
  /** Unix milliseconds. */
  atMs: number
  reason?: string
}

/** An open incident of a rule with `resolve` or `for`. */
export interface Incident {
  rule: string
  /** The key of its limit state; unique together with the rule. */
  key: string
  /** `Deployment shop/web`: the object, or that of its last event; undefined if it is not known. */
  object?: string
  sinceMs: number
  /** Events that were sent or added to a digest; undefined if an older version did not count them. */
  notifications?: number
  acknowledged?: Acknowledgement
}
