/** The end of a container's log that a rule asks for. */
export interface LogSettings {
  /** At most so many lines, counted from the end. */
  readonly lines: number
  /** At most so many bytes of UTF-8, counted from the end. */
  readonly maxBytes: number
  /** The run before the last restart; undefined: decided by the container's state. */
  readonly previous?: boolean | undefined
  /** Undefined: decided by the event. */
  readonly container?: string | undefined
}

/** The end of a container's log, or why it could not be had: exactly one of `text` and `error`. */
export interface ContainerLog {
  /** Missing where only the API server knows it: the only container of a pod that an Event is about. */
  readonly container?: string
  /** It is of the run before the last restart. */
  readonly previous: boolean
  /** Lines without control characters and without what looks like a secret; '' if nothing was written. */
  readonly text?: string
  /** A clause such as `the pod no longer exists`. */
  readonly error?: string
}
