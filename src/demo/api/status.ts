/** A refusal in the API server's own form: metav1.Status. */
export interface Status {
  kind: 'Status'
  apiVersion: 'v1'
  metadata: object
  status: 'Failure'
  message: string
  reason: string
  details?: object
  code: number
}

/** What a request cannot get; answered with its status. */
export class Refusal extends Error {
  override name = 'Refusal'
  readonly status: Status

  constructor(code: number, reason: string, message: string, details?: object) {
    super(message)
    this.status = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      reason,
      ...(details && { details }),
      code,
    }
  }
}

export function badRequest(message: string): Refusal {
  return new Refusal(400, 'BadRequest', message)
}

/** The position is older than what is remembered. */
export function expired(message: string): Refusal {
  return new Refusal(410, 'Expired', message)
}

/** The position is in the future: the client has seen another history (an etcd that was restored). */
export function tooLarge(asked: number, current: number): Refusal {
  return new Refusal(504, 'Timeout', `Timeout: Too large resource version: ${asked}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  })
}
