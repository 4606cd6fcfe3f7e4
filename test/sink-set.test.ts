test('what a health check tells carries no password of an address', async () => {
  const detail = 'cannot reach http://someone:hunter2hunter2@peer.example.com/api/'
  for (const health of [
    sinkWithHealth(async () => ({ ok: false, reason: 'network', detail })),
    sinkWithHealth(() => Promise.reject(new Error(detail))),
  ])
    expect(JSON.stringify(await askHealth(health, never))).not.toContain('hunter2')
})
