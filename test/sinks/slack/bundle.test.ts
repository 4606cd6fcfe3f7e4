import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { build } from 'esbuild'
import { expect, test } from 'vitest'
import type slack from '../../../sinks/slack/index.ts'
import { startSlack } from '../../servers/slack.ts'
import { openSink } from '../bed.ts'
import { never, tellOf } from './bed.ts'

const REQUIRE =
  "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);"

test('bundled as it ships, it loads the client when it is opened, and knows its errors', async () => {
  const outdir = await mkdtemp(join(tmpdir(), 'kubeherald-slack-'))
  try {
    const { metafile } = await build({
      entryPoints: { slack: 'sinks/slack/index.ts' },
      outdir,
      outExtension: { '.js': '.mjs' },
      bundle: true,
      splitting: true,
      format: 'esm',
      platform: 'node',
      target: 'node24',
      banner: { js: REQUIRE },
      metafile: true,
    })
    const main = Object.entries(metafile.outputs).find(([file]) => file.endsWith('/slack.mjs'))
    expect(Object.keys(main?.[1].inputs ?? {}).filter((it) => it.includes('@slack/web-api'))).toEqual([])
    const bundled = (await import(/* @vite-ignore */ pathToFileURL(join(outdir, 'slack.mjs')).href)) as {
      default: typeof slack
    }
    await using fake = await startSlack()
    fake.channel('shop')
    const options = { token: fake.token, channel: '#shop', apiUrl: fake.apiUrl }
    await using sink = await openSink(bundled.default, options)
    expect(await sink.deliver([tellOf()], never)).toEqual([{ kind: 'delivered' }])
    fake.fault({ method: 'chat.postMessage', error: 'not_in_channel' })
    expect(await sink.deliver([tellOf()], never)).toMatchObject([{ kind: 'retry', scope: 'target' }])
  } finally {
    await rm(outdir, { recursive: true })
  }
})
