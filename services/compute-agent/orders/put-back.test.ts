import { fakeClock } from '#libs/testing/fake-clock';
import { MAX_PUT_BACK_MS, PutBackOrders } from './put-back';

it('lets an order go back for so long and no longer, each by itself, and anew once it was taken', async () => {
  const clock = fakeClock();
  const orders = new PutBackOrders(clock);
  expect(orders.mayGoBack('a')).toBe(true);
  await clock.advance(MAX_PUT_BACK_MS - 1);
  expect([orders.mayGoBack('a'), orders.mayGoBack('b')]).toEqual([true, true]);
  await clock.advance(1);
  expect([orders.mayGoBack('a'), orders.mayGoBack('b')]).toEqual([false, true]);
  orders.forget('b');
  await clock.advance(MAX_PUT_BACK_MS - 1);
  expect(orders.mayGoBack('b')).toBe(true);
});
