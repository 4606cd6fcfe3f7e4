import { Writable } from 'node:stream'
import stdout, { openOutput } from '../../../sinks/stdout/index.ts'
import type { SinkType } from '../../../src/sink/index.ts'
import type { Peer } from './peer.ts'

/** A reader that stalls, or goes away: another one comes with the next process. */
export function startStdoutPeer(): Promise<Peer> {
  const took: string[] = []
  let isHeld = false
  let waiting: (() => void) | undefined
  const stream = new Writable({
    write(chunk, _encoding, done) {
      const take = () => {
        for (const line of String(chunk).trim().split('\n')) {
          const { name, resourceversion } = JSON.parse(line) as Record<string, string>
          took.push(`${name}@${resourceversion}`)
        }
        done()
      }
      if (isHeld) waiting = take
      else take()
    },
  })
  const open = ({ format }: { format: 'auto' }) => openOutput(stream as never, format)
  const noPeer = 'a pipe has no address, no words and no credentials'
  return Promise.resolve({
    type: 'stdout',
    sinkType: { ...stdout, open } as SinkType,
    options: () => ({ format: 'json' }),
    without: {
      unreachable: noPeer,
      refuses: 'a reader that went away is in stdout-process.test.ts',
      'cuts mid-answer': noPeer,
      throttles: noPeer,
      'wrong credentials': noPeer,
    },
    begin(fault) {
      isHeld = fault === 'hangs'
    },
    mend() {
      isHeld = false
      waiting?.()
      waiting = undefined
    },
    took: async () => took,
    async [Symbol.asyncDispose]() {},
  })
}
