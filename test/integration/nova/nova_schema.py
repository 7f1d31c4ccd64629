"""Creates tables of Nova's databases, empty, as Nova's own models have them: nova_schema.py mysql+pymysql://root@127.0.0.1:PORT"""
import sys

import sqlalchemy
from nova.db.api import models as api_models
from nova.db.main import models as main_models

TABLES = {
    'nova_api': (api_models, ['cell_mappings', 'host_mappings']),
    'nova_cell1': (main_models, ['compute_nodes', 'instances', 'instance_system_metadata'])}

server = sqlalchemy.create_engine(sys.argv[1])
for name, (models, tables) in TABLES.items():
    with server.connect() as connection:
        connection.execute(sqlalchemy.text('create database ' + name))
    engine = sqlalchemy.create_engine('%s/%s?charset=utf8' % (sys.argv[1], name))
    for table in tables:
        models.BASE.metadata.tables[table].create(engine)
