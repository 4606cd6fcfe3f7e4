import { Writable } from 'node:stream'
import stdout, { openOutput } from '../../../sinks/stdout/index.ts'
import type { SinkType } from '../../../src/sink/index.ts'
import type { Target } from '../../../src/sink/testkit/index.ts'
import { idsOfLines } from './file.ts'
import type { SinkUnderTest } from './index.ts'

/** The sink on a stream of ours in place of the process's own. */
export function stdoutUnderTest(): SinkUnderTest {
  let stream: Writable
  const type = { ...stdout, open: ({ format }: { format: 'auto' }) => openOutput(stream as never, format) }
  const start = (): Target => {
    const output = stallable()
    stream = output.stream
    return {
      options: { format: 'json' },
      received: output.ids,
      faults: { hang: output.hold, restore: output.goOn },
      forget: output.forget,
      stop() {},
    }
  }
  return { type: type as SinkType, setup: { start } }
}

/** A reader that takes everything, or nothing for a while. */
function stallable() {
  let ids: string[] = []
  let held = false
  let waiting: (() => void) | undefined
  const stream = new Writable({
    write(chunk, _encoding, done) {
      const take = () => {
        // A line's own id: objects may hold others.
        ids.push(...idsOfLines(String(chunk)))
        done()
      }
      if (held) waiting = take
      else take()
    },
  })
  return {
    stream,
    ids: () => ids,
    forget() {
      ids = []
    },
    hold() {
      held = true
    },
    goOn() {
      held = false
      waiting?.()
      waiting = undefined
    },
  }
}
