import { type ExportResult, ExportResultCode } from '@opentelemetry/core'
import type { ReadableSpan, SpanExporter } from '@opentelemetry/sdk-trace'
import type { Logger } from '../log.ts'
import { describeCauses, redactMessage } from '../redact.ts'

/** Tells once when spans cannot be exported, and once, with how many were lost, when they can again. */
export class TellingExporter implements SpanExporter {
  readonly #exporter: SpanExporter
  readonly #log: Logger
  #lost = 0

  constructor(exporter: SpanExporter, log: Logger) {
    this.#exporter = exporter
    this.#log = log
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.#exporter.export(spans, (result) => {
      this.#note(spans.length, result)
      done(result)
    })
  }

  forceFlush(): Promise<void> {
    return this.#exporter.forceFlush?.() ?? Promise.resolve()
  }

  shutdown(): Promise<void> {
    return this.#exporter.shutdown()
  }

  #note(count: number, { code, error }: ExportResult): void {
    if (code === ExportResultCode.SUCCESS) {
      if (this.#lost > 0) this.#log.info({ lost: this.#lost }, 'traces are exported again')
      this.#lost = 0
      return
    }
    if (this.#lost === 0)
      this.#log.warn(
        { detail: detailOf(error) },
        'traces cannot be exported; spans are lost, deliveries are not',
      )
    this.#lost += count
  }
}

/** Status and its words, never the body of an answer: it may repeat what it was sent. */
function detailOf(error: Error | undefined): string {
  if (!error) return 'no reason given'
  const { code } = error as Error & { code?: number | string }
  const status = typeof code === 'number' ? `${code} ` : ''
  return redactMessage(`${status}${describeCauses(error)}`).slice(0, 300)
}
