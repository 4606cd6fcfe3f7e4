import { readFileSync, writeFileSync } from 'node:fs'
import type { Bed } from '../cluster/bed.ts'
import { waitFor } from '../wait-for.ts'
import { createGapLog, type GapLog } from './gaps.ts'

const JOURNAL = 'journal: { keep: 1h, max: 1MB }\n'
const ASKS = '  - { name: asks, when: { namespaceLabels: "no=such" }, to: hook }'

export interface Fault {
  name: string
  /** Breaks something, waits a while, and mends it. */
  strike(): Promise<void>
}

export interface Faults {
  next(): Fault
  mendAll(): Promise<void>
  apiServerIsBack(): Promise<void>
  /** Where the API server lost its history: there several changes of one object may arrive as one. */
  readonly gaps: GapLog
}

/** All the ways in which a part can die, chosen by `random`. */
export function createFaults(bed: Bed, random: () => number): Faults {
  const gaps = createGapLog(bed)
  const between = (low: number, high: number) => low + random() * (high - low)
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
  const settle = () => pause(between(500, 3_000))

  const before = readFileSync(bed.kubeherald.configFile, 'utf8')
  const strikes: Fault[] = [
    {
      name: 'kill -9 kubeherald',
      async strike() {
        await bed.kubeherald.kill()
        await pause(between(0, 2_000))
        await bed.kubeherald.start({ unready: true })
        await settle()
      },
    },
    {
      name: 'kill -9 kubeherald twice in a row',
      async strike() {
        await bed.kubeherald.kill()
        await bed.kubeherald.start({ unready: true })
        await pause(between(200, 900))
        await bed.kubeherald.kill()
        await bed.kubeherald.start({ unready: true })
        await settle()
      },
    },
    {
      name: 'SIGTERM kubeherald',
      async strike() {
        await bed.kubeherald.stop()
        await bed.kubeherald.start({ unready: true })
        await settle()
      },
    },
    {
      name: 'freeze kubeherald for some seconds',
      async strike() {
        bed.kubeherald.signal('SIGSTOP')
        await pause(between(1_000, 12_000))
        bed.kubeherald.signal('SIGCONT')
        await settle()
      },
    },
    {
      name: 'kill -9 redis-server',
      async strike() {
        await bed.redis.kill()
        await pause(between(0, 3_000))
        await bed.redis.restart()
        await settle()
      },
    },
    {
      name: 'kill -9 kube-apiserver',
      async strike() {
        await gaps.open()
        await bed.kubernetes.killApiServer()
        await pause(between(0, 2_000))
        await bed.kubernetes.startApiServer()
        await gaps.restarted()
        await settle()
      },
    },
    {
      name: 'reload: a journal, and a rule that asks for metadata, and back',
      async strike() {
        writeFileSync(
          bed.kubeherald.configFile,
          before.replace('\n  - { name: all', `\n${ASKS}\n  - { name: all`) + JOURNAL,
        )
        await settle()
        writeFileSync(bed.kubeherald.configFile, before)
        await settle()
      },
    },
    ...['503', '500', 'hang', 'reset'].map((kind) => ({
      name: `webhook: ${kind}`,
      async strike() {
        bed.hook.answer(() => answerOf(kind))
        await pause(between(500, 5_000))
        bed.hook.answer(() => ({ status: 200 }))
        await settle()
      },
    })),
    {
      name: 'webhook: half of the answers 503',
      async strike() {
        bed.hook.answer(() => ({ status: random() < 0.5 ? 503 : 200 }))
        await pause(between(500, 5_000))
        bed.hook.answer(() => ({ status: 200 }))
      },
    },
  ]

  return {
    gaps,
    next: () => strikes[Math.floor(random() * strikes.length)] as Fault,
    async apiServerIsBack() {
      await waitFor(
        () =>
          bed.kubernetes.request('GET', '/readyz').then(
            () => true,
            () => false,
          ),
        {
          timeoutMs: 60_000,
          what: 'the API server to be back',
        },
      )
    },
    async mendAll() {
      bed.hook.answer(() => ({ status: 200 }))
      await waitFor(() => bed.kubeherald.ready(), {
        timeoutMs: 90_000,
        what: 'kubeherald to be ready after the last fault',
      })
    },
  }
}

function answerOf(kind: string): { status?: number; hang?: boolean; reset?: boolean } {
  if (kind === 'hang') return { hang: true }
  if (kind === 'reset') return { reset: true }
  return { status: Number(kind) }
}
