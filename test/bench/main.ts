import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { startRedis } from '../servers/redis.ts'
import type { Result, Row } from './row.ts'
import { acknowledgedRow } from './row-acknowledged.ts'
import { backlogRow } from './row-backlog.ts'
import { bulkRows } from './row-bulk.ts'
import { burstRow } from './row-burst.ts'
import { celRow } from './row-cel.ts'
import { checkRow } from './row-check.ts'
import { enrichRow } from './row-enrich.ts'
import { eventCostRows } from './row-event-cost.ts'
import { eventKeysRows } from './row-event-keys.ts'
import { firstPaintRow } from './row-first-paint.ts'
import { growthRows } from './row-growth.ts'
import { historyRow } from './row-history.ts'
import { idleRow } from './row-idle.ts'
import { journalRow } from './row-journal.ts'
import { kafkaRow } from './row-kafka.ts'
import { latencyRow } from './row-latency.ts'
import { limitsRow } from './row-limits.ts'
import { logsRow } from './row-logs.ts'
import { manyLanesRow } from './row-many-lanes.ts'
import { memoryRow, serverMemoryRow } from './row-memory.ts'
import { oldValuesRow } from './row-old-values.ts'
import { outageRow } from './row-outage.ts'
import { podLimitRow } from './row-pod-limit.ts'
import { recoveryRow } from './row-recovery.ts'
import { redisRow } from './row-redis.ts'
import { rulesRows } from './row-rules.ts'
import { silencesRow } from './row-silences.ts'
import { slackRow } from './row-slack.ts'
import { soakRow } from './row-soak.ts'
import { startRow } from './row-start.ts'
import { storyRow } from './row-story.ts'
import { liveViewRow, streamsRow } from './row-streams.ts'
import { nullSinkRow, slowWebhookRow, unmatchedRow, webhookRow } from './row-throughput.ts'
import { webhookSinkRow } from './row-webhook-sink.ts'

const ROWS: readonly Row[] = [
  nullSinkRow,
  unmatchedRow,
  limitsRow,
  silencesRow,
  journalRow,
  historyRow,
  liveViewRow,
  streamsRow,
  storyRow,
  firstPaintRow,
  webhookRow,
  webhookSinkRow,
  ...bulkRows,
  slowWebhookRow,
  kafkaRow,
  slackRow,
  latencyRow,
  acknowledgedRow,
  logsRow,
  ...eventCostRows,
  ...eventKeysRows,
  manyLanesRow,
  burstRow,
  backlogRow,
  outageRow,
  recoveryRow,
  idleRow,
  memoryRow,
  serverMemoryRow,
  podLimitRow,
  soakRow,
  enrichRow,
  redisRow,
  oldValuesRow,
  celRow,
  startRow,
  ...rulesRows,
  checkRow,
  ...growthRows,
]
const NAMES = ROWS.map(({ name }) => name).join(', ')
const USAGE = `npm run bench -- [--only ROW] [--pairs 5] [--minutes 5]\n\nrows: ${NAMES}`

const values = argumentsOf()
const pairs = Number(values.pairs)
const minutes = Number(values.minutes)
const chosen = ROWS.filter(
  ({ name }) => !values.only || values.only === name || name.startsWith(`${values.only}-`),
)
if (values.help || chosen.length === 0 || !(Number.isInteger(pairs) && pairs > 0) || !(minutes >= 4)) {
  console.error(USAGE)
  process.exit(values.help ? 0 : 2)
}
// Children end with us, also when somebody loses patience.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130))

console.log(`Node ${process.version}, ${availableParallelism()} cores`)
console.log(`Medians of ${pairs} pairs: ours and the yardstick are measured in turn.\n`)
for (const row of chosen) {
  const started = performance.now()
  const result = await row.measure({ pairs, minutes, startRedis })
  console.log(describe(row, result, (performance.now() - started) / 1_000))
}

function describe({ name, title }: Row, { ours, yardstick, ratio, target, met }: Result, seconds: number) {
  const compared = ratio === undefined ? '' : `   ratio ${ratio.toFixed(2)}`
  return [
    `${met ? 'met   ' : 'MISSED'}  ${title}`,
    `        ours ${ours}   yardstick ${yardstick}${compared}   target ${target}   (${name}, ${seconds.toFixed(0)} s)\n`,
  ].join('\n')
}

function argumentsOf() {
  try {
    return parseArgs({
      options: {
        only: { type: 'string' },
        pairs: { type: 'string', default: '5' },
        minutes: { type: 'string', default: '5' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${USAGE}`)
    process.exit(2)
  }
}
