import type { SinkConfig } from '../../config/schema.ts'
import { silentLog } from '../../observe/log.ts'
import type { Sink, SinkType } from '../../sink/index.ts'
import { memoryStore } from '../../sink/testkit/context.ts'
import { userAgent } from '../../version.ts'

/** Opens a sink without Redis: it keeps what processes share, such as threads, in memory. */
export async function openSink(
  { name, type, options }: Pick<SinkConfig, 'name' | 'type' | 'options'>,
  load: (type: string) => Promise<SinkType>,
  cluster: string,
): Promise<Sink> {
  return (await load(type)).open(options, {
    name,
    cluster,
    log: silentLog,
    metrics: { counter: () => () => {}, gauge: () => () => {} },
    store: memoryStore(),
    userAgent,
    clock: Date,
  })
}
