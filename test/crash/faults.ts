import { readFileSync, writeFileSync } from 'node:fs'
import type { Bed } from '../cluster/bed.ts'
import type { Kubeherald } from '../cluster/kubeherald.ts'
import { CONFIG_MAPS, DEPLOYMENTS, WIDGETS } from '../cluster/workload.ts'
import { waitFor } from '../wait-for.ts'
import { createGapLog, type GapLog } from './gaps.ts'
import { OTHER_GROUPS, usualGroups } from './limits.ts'
import { redisFaults } from './redis-faults.ts'

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
export function createFaults(
  bed: Bed,
  processes: readonly Kubeherald[],
  random: () => number,
  historyBegins: () => Promise<void>,
): Faults {
  const gaps = createGapLog(bed, [CONFIG_MAPS, DEPLOYMENTS, WIDGETS])
  const between = (low: number, high: number) => low + random() * (high - low)
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
  const settle = () => pause(between(500, 3_000))

  const one = () => processes[Math.floor(random() * processes.length)] as Kubeherald
  const before = new Map(processes.map((it) => [it, readFileSync(it.configFile, 'utf8')]))
  /** One of them, or all, one after the other. */
  function reload(change: (config: string) => string): void {
    const first = one()
    for (const it of random() < 0.5 ? [first] : processes)
      writeFileSync(it.configFile, change(before.get(it) as string))
  }
  function reloadBack(): void {
    for (const [it, config] of before) writeFileSync(it.configFile, config)
  }

  const strikes: Fault[] = [
    {
      name: 'kill -9 kubeherald',
      async strike() {
        const it = one()
        await it.kill()
        await pause(between(0, 2_000))
        await it.start({ unready: true })
        await settle()
      },
    },
    {
      name: 'kill -9 kubeherald twice in a row',
      async strike() {
        const it = one()
        await it.kill()
        await it.start({ unready: true })
        await pause(between(200, 900))
        await it.kill()
        await it.start({ unready: true })
        await settle()
      },
    },
    {
      name: 'SIGTERM kubeherald',
      async strike() {
        const it = one()
        await it.stop()
        await it.start({ unready: true })
        await settle()
      },
    },
    {
      name: 'freeze kubeherald for some seconds',
      async strike() {
        const it = one()
        it.signal('SIGSTOP')
        await pause(between(1_000, 12_000))
        it.signal('SIGCONT')
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
        reload((config) => config.replace('\n  - { name: all', `\n${ASKS}\n  - { name: all`) + JOURNAL)
        await settle()
        reloadBack()
        await settle()
      },
    },
    {
      name: 'reload: other groups, and back',
      async strike() {
        const other = OTHER_GROUPS[Math.floor(random() * OTHER_GROUPS.length)] as string
        reload((config) => config.replaceAll(usualGroups, (text) => (random() < 0.7 ? other : text)))
        await settle()
        reloadBack()
        await settle()
      },
    },
    ...redisFaults(bed.redis, { pause, between, settle, historyBegins }),
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
      for (const it of processes) {
        // One that found no Redis as it started ended, and is started again by whoever looks after it.
        if (!isRunning(it.pid)) await it.start({ unready: true })
        await waitFor(() => it.ready(), {
          timeoutMs: 90_000,
          what: () => `kubeherald to be ready after the last fault; it said:\n${it.log().slice(-3_000)}`,
        })
      }
    },
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

function answerOf(kind: string): { status?: number; hang?: boolean; reset?: boolean } {
  if (kind === 'hang') return { hang: true }
  if (kind === 'reset') return { reset: true }
  return { status: Number(kind) }
}
