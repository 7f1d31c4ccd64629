"""Run by `npm test` against real processes: BERTH_TEST_URL is a tenant's, BERTH_TEST_OTHER_URL another one's."""

import os
import threading
import unittest
import uuid

from berth_client import Client, NotSettled, Refused


class ClientTest(unittest.TestCase):
    def setUp(self):
        self.client = Client(os.environ["BERTH_TEST_URL"])
        self.addCleanup(self.client.close)

    def test_builds_waits_lists_and_terminates(self):
        events = self.client.build_and_wait({"VCPU": 1, "MEMORY_MB": 64}, count=2, name="py", timeout=30)
        uuids = [event.instance_uuid for event in events]
        self.assertEqual([event.name for event in events], ["py-1", "py-2"])
        self.assertLessEqual(set(uuids), {instance.uuid for instance in self.client.instances(state="INSTANCE_STATE_ACTIVE")})
        self.assertEqual(self.client.wait(uuids[0], timeout=30).uuid, uuids[0])
        for one in uuids:
            self.client.terminate(one, wait=True, timeout=30)
        self.assertFalse(set(uuids) & {instance.uuid for instance in self.client.instances(state="INSTANCE_STATE_ACTIVE")})

    def test_builds_a_gang_or_none_of_it(self):
        events = self.client.build_and_wait({"VCPU": 1, "MEMORY_MB": 64}, count=2, min_count=2, timeout=30)
        for event in events:
            self.assertEqual(self.client.wait(event.instance_uuid, timeout=30).fault.reason, "")
            self.client.terminate(event.instance_uuid, wait=True, timeout=30)
        events = self.client.build_and_wait({"VCPU": 100_000}, count=2, min_count=1, timeout=30)
        self.assertEqual([event.fault.reason for event in events], ["no_valid_host", "no_valid_host"])
        with self.assertRaises(Refused):
            self.client.build_and_wait({"VCPU": 1}, count=1, min_count=2, timeout=30)

    def test_tells_why_there_is_no_host(self):
        (event,) = self.client.build_and_wait({"VCPU": 100_000}, timeout=30)
        self.assertEqual(event.fault.reason, "no_valid_host")

    def test_tells_why_a_request_is_refused(self):
        with self.assertRaises(Refused) as caught:
            self.client.build_and_wait({"VCPU": 1}, project_id="somebody-else", timeout=30)
        self.assertEqual(caught.exception.reason, "wrong_project")
        with self.assertRaises(Refused) as caught:
            self.client.terminate(str(uuid.uuid4()), wait=True, timeout=30)
        self.assertEqual(caught.exception.reason, "no_such_instance")

    def test_does_not_wait_longer_than_told(self):
        (event,) = self.client.build_and_wait({"VCPU": 1}, timeout=30)
        with self.assertRaises(NotSettled):
            self.client.wait(event.instance_uuid, ("DELETED",), timeout=1)
        self.client.terminate(event.instance_uuid, wait=True, timeout=30)

    def test_hears_what_happens_and_nothing_of_others(self):
        with Client(os.environ["BERTH_TEST_OTHER_URL"]) as other, Client(os.environ["BERTH_TEST_URL"]) as own:
            listening = own.events(timeout=10)
            states = []
            heard = threading.Thread(target=lambda: states.extend(next(listening) for _ in range(3)))
            other.build_and_wait({"VCPU": 1}, name="other", timeout=30)
            heard.start()
            event = None
            while heard.is_alive():
                (event,) = self.client.build_and_wait({"VCPU": 1}, name="own", timeout=30)
                heard.join(timeout=1)
            self.assertEqual({one.name for one in states}, {"own"})
            versions = [one.version for one in states if one.instance_uuid == states[0].instance_uuid]
            self.assertEqual(versions, sorted(set(versions)))


if __name__ == "__main__":
    unittest.main()
