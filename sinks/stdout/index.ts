import { defineSink, type Message, type Outcome } from '../../src/sink/index.ts'
import { StdoutConfig } from './config.ts'
import { textLine } from './format.ts'

/** Prints every event: a CloudEvent a line, or a line for people on a terminal. */
export default defineSink<StdoutConfig>({
  type: 'stdout',
  config: StdoutConfig,
  // One lane: lines come out in the order in which they happened.
  lane: () => '0',
  open: ({ format }) => openOutput(process.stdout, format),
})

/** Writes to a stream; a delivery counts when the stream has taken it. */
export function openOutput(output: NodeJS.WriteStream, format: StdoutConfig['format']) {
  const text = format === 'text' || (format === 'auto' && output.isTTY === true)
  const colour = output.isTTY === true && !process.env['NO_COLOR']
  let broken: Error | undefined
  output.on('error', (error: Error) => {
    broken = error
  })

  function write(lines: string): Promise<Error | undefined> {
    return new Promise((resolve) => {
      output.write(lines, (error) => resolve(error ?? undefined))
    })
  }

  return {
    async deliver(batch: readonly Message[]): Promise<Outcome[]> {
      const lines = batch.map((message) =>
        text ? textLine(message, colour) : `${message.cloudEvent.toString()}\n`,
      )
      const error = broken ?? (await write(lines.join('')))
      if (!error) return batch.map(() => ({ kind: 'delivered' }))
      const detail = `nobody reads standard output (${(error as NodeJS.ErrnoException).code ?? error.message})`
      return batch.map(() => ({ kind: 'retry', reason: 'network', detail, scope: 'sink' }))
    },
    async close() {},
  }
}
