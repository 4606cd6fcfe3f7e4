import { parentPort } from 'node:worker_threads'
import { checkedValueOf } from '../../config/checked-value.ts'
import type { SinkType } from '../../sink/index.ts'
import { builtInSinks } from '../../sink-types.ts'
import { UsageError } from '../usage-error.ts'
import { FileReads } from './file-reads.ts'
import { type ApartRead, type ApartRequest, MORE } from './read-apart.ts'
import { readOnce } from './read-once.ts'
import { firstPlace, inOneLine, showProblems } from './shown-problems.ts'

/** So many rules at a time: to take over all at once would hold whoever gets them. */
const CHUNK = 100

/** Those of the last configuration that are not asked for yet. */
let toHandOver: readonly unknown[] = []

/** Answers whoever started this thread: a request, or that the next piece is wanted. */
export function answerRequests(): void {
  parentPort?.on('message', (asked: ApartRequest | typeof MORE) => {
    if (asked === MORE) tellMore()
    else void readAndTell(asked)
  })
}

/** Reads and checks a configuration, and hands it over as plain data, its rules piece by piece. */
async function readAndTell({ source, colour, pluginTypes }: ApartRequest): Promise<void> {
  const reads = new FileReads()
  try {
    const stubs = Object.fromEntries(pluginTypes.map((type) => [type, unknownType(type)]))
    const { digest, loaded } = await readOnce(source, reads, { sinkTypes: builtInSinks, pluginTypes: stubs })
    const { texts } = loaded
    if (!loaded.ok) {
      const { problems } = loaded
      const [problem, shown] = [inOneLine(problems, texts), showProblems(problems, texts, colour)]
      const place = firstPlace(problems, texts)
      return tell({ ok: false, reads: reads.noted(), problem, shown, place })
    }
    const { warnings, document } = loaded
    const { rules, ...value } = checkedValueOf(document)
    const shownWarnings = showProblems(warnings, texts, colour)
    tell({ ok: true, reads: reads.noted(), digest, warnings, shownWarnings, ...value, count: rules.length })
    toHandOver = rules
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    tell({ ok: false, reads: reads.noted(), problem: error.message, shown: '' })
  }
}

function tellMore(): void {
  parentPort?.postMessage(toHandOver.slice(0, CHUNK))
  toHandOver = toHandOver.slice(CHUNK)
}

function tell(read: ApartRead): void {
  parentPort?.postMessage(read)
}

/** Takes whatever a rule or a sink says for a plug-in: its schema cannot leave the thread that loaded it. */
function unknownType(type: string): SinkType {
  const validate = (value: unknown) => ({ value })
  const anything = { '~standard': { version: 1, vendor: 'kubeherald', validate } } as const
  return {
    ...{ apiVersion: 1, type, config: anything, route: anything },
    open() {
      throw new Error(`${type} is only checked here`)
    },
  }
}
