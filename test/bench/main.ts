import { parseArgs } from 'node:util'
import { startRedis } from '../servers/redis.ts'
import { latencyRow } from './row-latency.ts'
import { memoryRow } from './row-memory.ts'
import { redisRow, startRow } from './row-sizes.ts'
import { nullSinkRow, slowWebhookRow, unmatchedRow, webhookRow } from './row-throughput.ts'

/** One line of the table: what was measured, against what, in the same run. */
export interface Result {
  ours: string
  yardstick: string
  ratio?: number
  target: string
  met: boolean
}

export interface BenchContext {
  /** How many pairs are measured; the median of their ratios counts. */
  pairs: number
  startRedis: typeof startRedis
}

export interface Row {
  name: string
  title: string
  measure(context: BenchContext): Promise<Result>
}

const ROWS: Row[] = [
  nullSinkRow,
  unmatchedRow,
  webhookRow,
  slowWebhookRow,
  latencyRow,
  memoryRow,
  redisRow,
  startRow,
]

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    pairs: { type: 'string', default: '5' },
    help: { type: 'boolean', short: 'h' },
  },
})
if (values.help) {
  console.log(`npm run bench -- [--only ROW] [--pairs 5]\n\nrows: ${ROWS.map(({ name }) => name).join(', ')}`)
  process.exit(0)
}

const chosen = ROWS.filter(({ name }) => !values.only || values.only === name)
if (chosen.length === 0) {
  console.error(`there is no row "${values.only}": ${ROWS.map(({ name }) => name).join(', ')}`)
  process.exit(2)
}
console.log(
  `Node ${process.version}, ${values.pairs} pairs each; ratios are medians of pairs measured in turn\n`,
)
for (const row of chosen) {
  const result = await row.measure({ pairs: Number(values.pairs), startRedis })
  const ratio = result.ratio === undefined ? '' : `  ratio ${result.ratio.toFixed(2)}`
  console.log(`${result.met ? 'met   ' : 'MISSED'}  ${row.title}`)
  console.log(`        ours ${result.ours}  yardstick ${result.yardstick}${ratio}  target ${result.target}\n`)
}
