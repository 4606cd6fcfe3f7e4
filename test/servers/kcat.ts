import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** A record as an independent client read it. */
export interface KafkaRecord {
  topic: string
  partition: number
  offset: number
  key: string | null
  /** null is a tombstone. */
  value: string | null
  headers: Readonly<Record<string, string>>
}

/** Runs kcat to its end; gives what it printed, throws with what it complained of. */
export async function kcat(args: readonly string[], input = ''): Promise<string> {
  const child = spawn('kcat', args, { stdio: ['pipe', 'pipe', 'pipe'] })
  let output = ''
  let errors = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    errors += text
  })
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`kcat ${args.join(' ')} ended with ${code}: ${errors}`)
  return output
}

/** All records of a topic, by partition and offset. */
export async function readTopic(
  brokers: readonly string[],
  topic: string,
  options: readonly string[] = [],
): Promise<KafkaRecord[]> {
  const output = await kcat([
    '-C',
    '-J',
    '-q',
    '-e',
    '-o',
    'beginning',
    '-b',
    brokers.join(),
    '-t',
    topic,
    ...options,
  ])
  return output
    .split('\n')
    .filter((line) => line !== '')
    .map((line): KafkaRecord => {
      const { topic, partition, offset, key, payload, headers = [] } = JSON.parse(line)
      return { topic, partition, offset, key, value: payload, headers: pairs(headers) }
    })
    .sort((a, b) => a.partition - b.partition || a.offset - b.offset)
}

function pairs(headers: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {}
  for (let i = 0; i < headers.length; i += 2) found[headers[i] as string] = headers[i + 1] as string
  return found
}

/** Does this broker's metadata name so many brokers? */
export async function kcatMetadata(broker: string, count: number): Promise<boolean> {
  const output = await kcat(['-L', '-J', '-m', '2', '-b', broker]).catch(() => '{}')
  return JSON.parse(output || '{}').brokers?.length === count
}
